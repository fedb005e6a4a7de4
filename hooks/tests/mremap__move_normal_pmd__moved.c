// SPDX-License-Identifier: GPL-2.0-only
static bool move_normal_pmd(struct area *vma, unsigned long old_addr, unsigned long new_addr,
			    pmd_t *old_pmd, pmd_t *new_pmd)
{
	pmd_clear(old_pmd);
	pmd_populate(mm, new_pmd, pmd_pgtable(pmd));
	flush_tlb_range(vma, old_addr, old_addr + PMD_SIZE);
	return true;
}
