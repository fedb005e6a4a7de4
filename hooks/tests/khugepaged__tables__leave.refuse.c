// SPDX-License-Identifier: GPL-2.0-only
/* The tables are freed at once. */
static void retract_page_tables(struct address_space *mapping, pgoff_t pgoff)
{
	mm_dec_nr_ptes(mm);
	pte_free(mm, pmd_pgtable(pgt_pmd));
}
