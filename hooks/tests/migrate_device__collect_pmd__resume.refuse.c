// SPDX-License-Identifier: GPL-2.0-only
/* The folio is split by another function, which begins at the start. */
static int migrate_vma_collect_pmd(pmd_t *pmdp, unsigned long start, unsigned long end,
				   struct walk *walk)
{
again:
	if (pmd_trans_huge(*pmdp) && split(pmdp))
		goto again;
	return collect(pmdp, start, end, walk);
}
