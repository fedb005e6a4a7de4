// SPDX-License-Identifier: GPL-2.0-only
static void remap_page(struct folio *folio, unsigned long nr, int flags)
{
	int i = 0;

	/* Files fault their pages back. */
	if (!folio_test_anon(folio))
		return;
	while (i < nr) {
		remove_migration_ptes(folio, folio, flags);
		i += folio_nr_pages(folio);
		folio = folio_next(folio);
	}
}
