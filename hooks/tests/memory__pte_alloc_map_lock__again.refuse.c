// SPDX-License-Identifier: GPL-2.0-only
/* Only one of the two. */
pte_t *__get_locked_pte(struct mm *mm, unsigned long addr, lock_t **ptl)
{
	return pte_alloc_map_lock(mm, pmd, addr, ptl);
}
