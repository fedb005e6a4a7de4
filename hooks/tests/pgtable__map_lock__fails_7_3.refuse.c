// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm_inline.h>

/* It maps something else. */
pte_t *pte_offset_map_lock(struct mm *mm, pmd_t *pmd, unsigned long addr)
{
	pte = map(pmd, addr);
	return pte;
}
