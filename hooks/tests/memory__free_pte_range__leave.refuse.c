// SPDX-License-Identifier: GPL-2.0-only
/* The table is not freed here. */
static void free_pte_range(struct gather *tlb, pmd_t *pmd, unsigned long addr)
{
	pmd_clear(pmd);
	mm_dec_nr_ptes(tlb->mm);
}

static void free_other_range(struct gather *tlb, pgtable_t token, unsigned long addr)
{
	pte_free_tlb(tlb, token, addr);
}
