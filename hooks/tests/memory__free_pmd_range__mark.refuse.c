// SPDX-License-Identifier: GPL-2.0-only
/* The PMD is not checked. */
static inline void free_pmd_range(struct gather *tlb, pud_t *pud, unsigned long addr)
{
	pmd = pmd_offset(pud, addr);
	free_pte_range(tlb, pmd, addr);
	pud_clear(pud);
}
