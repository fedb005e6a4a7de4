// SPDX-License-Identifier: GPL-2.0-only
static bool try_to_migrate_one(struct folio *folio, void *arg)
{
	return folio->gone;
}

/**
 * try_to_migrate - the name in comments stays
 */
void try_to_migrate(struct folio *folio, enum ttu_flags flags)
{
	try_to_migrate_one(folio, (void *)flags);
}

void caller(struct folio *folio)
{
	try_to_migrate(folio, TTU_SYNC);
}
