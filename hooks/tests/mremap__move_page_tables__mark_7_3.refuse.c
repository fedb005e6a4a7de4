// SPDX-License-Identifier: GPL-2.0-only
static pmd_t *get_old_pmd(struct mm *mm, unsigned long addr)
{
	pmd = pmd_offset(pud, addr);
	if (pmd_none(*pmd))
		return NULL;
	return pmd;
}

/* It moves what is none, too. */
unsigned long move_page_tables(struct control *pmc)
{
	for (; !done(pmc); next(pmc, extent)) {
		old_pmd = get_old_pmd(mm, pmc->old_addr);
		new_pmd = alloc_new_pmd(mm, pmc->new_addr);
		move_ptes(old_pmd, new_pmd);
	}
	return progress(pmc);
}
