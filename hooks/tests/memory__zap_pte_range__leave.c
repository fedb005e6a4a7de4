// SPDX-License-Identifier: GPL-2.0-only
static unsigned long zap_pte_range(struct gather *tlb, pmd_t *pmd, unsigned long addr)
{
	pte_unmap_unlock(start_pte, ptl);
	if (can_reclaim_pt) {
		if (direct_reclaim || zap_pte_table_if_empty(mm, pmd, start, &pmdval)) {
			pte_free_tlb(tlb, pmd_pgtable(pmdval), start);
			mm_dec_nr_ptes(mm);
		}
	}
	return addr;
}
