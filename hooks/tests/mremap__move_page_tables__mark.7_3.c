// SPDX-License-Identifier: GPL-2.0-only
static pmd_t *get_old_pmd(struct mm *mm, unsigned long addr)
{
	pmd = pmd_offset(pud, addr);
	if (pmd_none(*pmd))
		return NULL;
	return pmd;
}

unsigned long move_page_tables(struct control *pmc)
{
	struct mm *mm = pmc->old->vm_mm;

	for (; !done(pmc); next(pmc, extent)) {
		old_pmd = get_old_pmd(mm, pmc->old_addr);
		if (!old_pmd)
			continue;
		new_pmd = alloc_new_pmd(mm, pmc->new_addr);
		if (!new_pmd)
			break;
		if (pmd_none(*old_pmd))
			continue;
		if (pte_alloc(pmc->new->vm_mm, new_pmd))
			break;
	}
	return progress(pmc);
}
