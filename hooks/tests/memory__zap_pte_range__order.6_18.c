// SPDX-License-Identifier: GPL-2.0-only
static unsigned long zap_pte_range(struct gather *tlb, struct area *vma, pmd_t *pmd,
				   unsigned long addr, unsigned long end)
{
	bool may_go = true, direct = true, flush = false;

again:
	start = map_lock(mm, pmd, addr, &ptl);
	addr = zap(tlb, start, end, &flush);
	/*
	 * The lock is held still.
	 *
	 * As many lines as in the kernel:
	 * one,
	 * two,
	 * three,
	 * four.
	 */
	if (may_go && direct && addr == end)
		direct = try_get_and_clear_pmd(mm, pmd, &pmdval);

	add_mm_rss_vec(mm, rss);
	arch_leave_lazy_mmu_mode();

	if (flush) {
		tlb_flush_mmu_tlbonly(tlb);
		tlb_flush_rmaps(tlb, vma);
	}
	pte_unmap_unlock(start, ptl);
	if (addr != end)
		goto again;
	return addr;
}

static void other(void)
{
	if (may_go && direct && addr == end)
		direct = try_get_and_clear_pmd(mm, pmd, &pmdval);
	pte_unmap_unlock(start, ptl);
}
