// SPDX-License-Identifier: GPL-2.0-only
pte_t *get_locked_pte(struct mm *mm, unsigned long addr, lock_t **ptl)
{
	pmd_t *pmd = walk_to_pmd(mm, addr);

	if (!pmd)
		return NULL;
	return pte_alloc_map_lock(mm, pmd, addr, ptl);
}

static int apply_to_pte_range(struct mm *mm, pmd_t *pmd, unsigned long addr)
{
	pte = mm == &init_mm ? pte_alloc_kernel(pmd, addr) :
			       pte_alloc_map_lock(mm, pmd, addr, &ptl);
	return 0;
}

static int remap_pte_range(struct mm *mm, pmd_t *pmd, unsigned long addr)
{
	pte = pte_alloc_map_lock(mm, pmd, addr, &ptl);
	return 0;
}
