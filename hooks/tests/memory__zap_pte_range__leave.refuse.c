// SPDX-License-Identifier: GPL-2.0-only
/* No table is freed. */
static unsigned long zap_pte_range(struct gather *tlb, pmd_t *pmd, unsigned long addr)
{
	pte_unmap_unlock(start_pte, ptl);
	return addr;
}
