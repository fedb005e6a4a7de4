// SPDX-License-Identifier: GPL-2.0-only
/* The table goes after the lock was dropped. */
static unsigned long zap_pte_range(struct gather *tlb, struct area *vma, pmd_t *pmd,
				   unsigned long addr, unsigned long end)
{
	add_mm_rss_vec(mm, rss);
	lazy_mmu_mode_disable();
	if (flush) {
		tlb_flush_mmu_tlbonly(tlb);
		tlb_flush_rmaps(tlb, vma);
	}
	pte_unmap_unlock(start, ptl);
	if (may_go && direct && addr == end)
		direct = zap_empty_pte_table(mm, pmd, ptl, &pmdval);
	return addr;
}
