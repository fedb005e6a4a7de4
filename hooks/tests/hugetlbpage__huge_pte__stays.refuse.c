// SPDX-License-Identifier: GPL-2.0-only
/* An entry is found in a page table without the helper. */
#include <linux/sysctl.h>

pte_t *huge_pte_alloc(struct mm *mm, struct vma *vma, unsigned long addr, unsigned long sz)
{
	if (sz == CONT_PTE_SIZE)
		return pte_alloc_huge(mm, pmdp, addr);
	return NULL;
}

pte_t *huge_pte_offset(struct mm *mm, unsigned long addr, unsigned long sz)
{
	if (sz == CONT_PTE_SIZE)
		return pte_offset_kernel(pmdp, (addr & CONT_PTE_MASK));
	return NULL;
}
