// SPDX-License-Identifier: GPL-2.0-only
/* One of the two functions is missing. */
pte_t *get_locked_pte(struct mm *mm, unsigned long addr, lock_t **ptl)
{
	return pte_alloc_map_lock(mm, pmd, addr, ptl);
}
