// SPDX-License-Identifier: GPL-2.0-only
/* Swap entries are counted elsewhere. */
static int madvise_free_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end)
{
	start_pte = map(pmd, addr);
	free_entries(start_pte, addr, end);
	if (start_pte) {
		leave();
		pte_unmap_unlock(start_pte, ptl);
	}
	return 0;
}

static int madvise_free_single_vma(struct area *vma)
{
	tlb_gather_mmu(&tlb, mm);
	walk(vma);
	tlb_finish_mmu(&tlb);

	return 0;
}
