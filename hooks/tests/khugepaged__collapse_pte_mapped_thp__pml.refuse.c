// SPDX-License-Identifier: GPL-2.0-only
/* The PMD lock is always taken. */
int collapse_pte_mapped_thp(struct mm *mm, unsigned long addr)
{
	lock_t *pml = pmd_lock(mm, pmd);

	pte = pte_offset_map_nolock(mm, pmd, addr, &ptl);
	return !!pml;
}
