// SPDX-License-Identifier: GPL-2.0-only
static pmd_t *get_old_pmd(struct mm *mm, unsigned long addr)
{
	pmd = pmd_offset(pud, addr);
	if (pmd_none(*pmd))
		return NULL;
	return pmd;
}

unsigned long move_page_tables(struct area *vma, unsigned long old_addr)
{
	for (; old_addr < old_end; old_addr += extent, new_addr += extent) {
		old_pmd = get_old_pmd(vma->vm_mm, old_addr);
		if (!old_pmd)
			continue;
		new_pmd = alloc_new_pmd(vma->vm_mm, vma, new_addr);
		if (!new_pmd)
			break;
		if (pmd_none(*old_pmd))
			continue;
		if (pte_alloc(new_vma->vm_mm, new_pmd))
			break;
	}
	return len;
}
