// SPDX-License-Identifier: GPL-2.0-only
/* Files come back, too. */
static void remap_page(struct folio *folio, unsigned long nr, int flags)
{
	int i = 0;

	while (i < nr) {
		remove_migration_ptes(folio, folio, flags);
		i += folio_nr_pages(folio);
		folio = folio_next(folio);
	}
}
