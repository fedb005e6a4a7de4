// SPDX-License-Identifier: GPL-2.0-only
/* Another function frees it. */
void free_pte(struct mm *mm, unsigned long addr, struct gather *tlb, pmd_t pmdval)
{
	free_pte_range(tlb, pmdval, addr);
}
