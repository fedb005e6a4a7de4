// SPDX-License-Identifier: GPL-2.0-only
/* The PMD lock is always taken. */
static int try_collapse_pte_mapped_thp(struct mm *mm, unsigned long addr)
{
	lock_t *pml = pmd_lock(mm, pmd);

	pte = pte_offset_map_rw_nolock(mm, pmd, addr, &pgt_pmd, &ptl);
	return !!pml;
}
