// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/sysctl.h>
#include <asm/mman.h>

pte_t *huge_pte_alloc(struct mm *mm, struct vma *vma, unsigned long addr, unsigned long sz)
{
	pte_t *ptep = NULL;

	if (sz == CONT_PTE_SIZE) {
		WARN_ON(addr & (sz - 1));
		ptep = pte_alloc_huge(mm, pmdp, addr);
	} else if (sz == PMD_SIZE) {
		ptep = (pte_t *)pmd_alloc(mm, pudp, addr);
	}
	return ptep;
}

pte_t *huge_pte_offset(struct mm *mm, unsigned long addr, unsigned long sz)
{
	if (sz == CONT_PTE_SIZE)
		return pte_offset_huge(pmdp, (addr & CONT_PTE_MASK));
	return NULL;
}

pte_t *other(struct mm *mm, unsigned long addr)
{
	return pte_offset_huge(pmdp, addr);
}
