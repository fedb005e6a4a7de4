// SPDX-License-Identifier: GPL-2.0-only
static bool remove_migration_pte(struct folio *folio, void *arg)
{
	return folio == arg;
}

/*
 * remove_migration_ptes() keeps its name in comments
 */
void remove_migration_ptes(struct folio *src, struct folio *dst, int flags)
{
	remove_migration_pte(src, dst);
}

void caller(struct folio *folio)
{
	remove_migration_ptes(folio, folio, 0);
}
