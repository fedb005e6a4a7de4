// SPDX-License-Identifier: GPL-2.0-only
static pmd_t *get_old_pmd(struct mm *mm, unsigned long addr)
{
	pmd = pmd_offset(pud, addr);
	if (pmd_none(*pmd))
		return NULL;
	return pmd;
}

/* It moves what is none, too. */
unsigned long move_page_tables(struct area *vma, unsigned long old_addr)
{
	for (; old_addr < old_end; old_addr += extent, new_addr += extent) {
		old_pmd = get_old_pmd(vma->vm_mm, old_addr);
		new_pmd = alloc_new_pmd(vma->vm_mm, vma, new_addr);
		move_ptes(old_pmd, new_pmd);
	}
	return len;
}
