// SPDX-License-Identifier: GPL-2.0-only
/* Entries are looked at by another function. */
static bool folio_referenced_one(struct folio *folio, struct area *vma, unsigned long address)
{
	while (page_vma_mapped_walk(&pvmw)) {
		referenced += look(&pvmw);
		pra->mapcount--;
	}
	return pra->mapcount;
}
