// SPDX-License-Identifier: GPL-2.0-only
/* The function has another name. */
void folio_try_to_migrate(struct folio *folio, enum ttu_flags flags)
{
	try_to_migrate_one(folio, (void *)flags);
}

void caller(struct folio *folio)
{
	folio_try_to_migrate(folio, TTU_SYNC);
}
