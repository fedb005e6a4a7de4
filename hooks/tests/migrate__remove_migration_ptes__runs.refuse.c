// SPDX-License-Identifier: GPL-2.0-only
/* The function has another name. */
void folio_remove_migration_ptes(struct folio *src, struct folio *dst, int flags)
{
	remove_migration_pte(src, dst);
}

void caller(struct folio *folio)
{
	folio_remove_migration_ptes(folio, folio, 0);
}
