// SPDX-License-Identifier: GPL-2.0-only
static void free_pte_range(struct gather *tlb, pmd_t *pmd, unsigned long addr)
{
	pgtable_t token = pmd_pgtable(*pmd);
	pmd_clear(pmd);
	pte_free_tlb(tlb, token, addr);
	mm_dec_nr_ptes(tlb->mm);
}
