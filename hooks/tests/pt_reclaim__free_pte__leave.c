// SPDX-License-Identifier: GPL-2.0-only
void free_pte(struct mm *mm, unsigned long addr, struct gather *tlb, pmd_t pmdval)
{
	pte_free_tlb(tlb, pmd_pgtable(pmdval), addr);
	mm_dec_nr_ptes(mm);
}
