// SPDX-License-Identifier: GPL-2.0-only
/* The function has another name. */
void try_to_unmap_folio(struct folio *folio, enum ttu_flags flags)
{
	one(folio);
}

void caller(struct folio *folio)
{
	try_to_unmap_folio(folio, 0);
}
