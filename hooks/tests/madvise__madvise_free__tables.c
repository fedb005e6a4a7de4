// SPDX-License-Identifier: GPL-2.0-only
static int madvise_free_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end)
{
	int nr_swap = 0;

	start_pte = map(pmd, addr);
	nr_swap = free_entries(start_pte, addr, end);
	if (nr_swap)
		add_mm_counter(mm, MM_SWAPENTS, nr_swap);
	if (start_pte) {
		leave();
		pte_unmap_unlock(start_pte, ptl);
	}
	return 0;
}
