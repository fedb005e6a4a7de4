// SPDX-License-Identifier: GPL-2.0-only
/* Another name: the hook has to be looked at. */
void try_to_unmap_folio(struct folio *folio, enum ttu_flags flags)
{
	one(folio);
}

void caller(struct folio *folio)
{
	try_to_unmap_folio(folio, 0);
}
