// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm_inline.h>

pte_t *pte_offset_map_lock(struct mm *mm, pmd_t *pmd, unsigned long addr)
{
again:
	pte = __pte_offset_map(pmd, addr, &pmdval);
	if (unlikely(!pte))
		return pte;
	goto again;
}
