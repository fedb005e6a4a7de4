// SPDX-License-Identifier: GPL-2.0-only
static int one(struct folio *folio)
{
	return folio->mapped;
}

/**
 * try_to_unmap - the name in comments stays
 */
void try_to_unmap(struct folio *folio, enum ttu_flags flags)
{
	one(folio);
}

void caller(struct folio *folio)
{
	try_to_unmap(folio, 0);
}
