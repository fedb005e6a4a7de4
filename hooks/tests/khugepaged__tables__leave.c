// SPDX-License-Identifier: GPL-2.0-only
static int collapse_huge_page(struct mm *mm, unsigned long address)
{
	pgtable = pmd_pgtable(_pmd);
	spin_lock(pmd_ptl);
	pgtable_trans_huge_deposit(mm, pmd, pgtable);
	set_pmd_at(mm, address, pmd, _pmd);
	spin_unlock(pmd_ptl);
	return 0;
}

int collapse_pte_mapped_thp(struct mm *mm, unsigned long addr)
{
	mm_dec_nr_ptes(mm);
	pte_free_defer(mm, pmd_pgtable(pgt_pmd));
	return 0;
}

static void retract_page_tables(struct address_space *mapping, pgoff_t pgoff)
{
	for (;;) {
		if (success) {
			mm_dec_nr_ptes(mm);
			pte_free_defer(mm, pmd_pgtable(pgt_pmd));
		}
	}
}
