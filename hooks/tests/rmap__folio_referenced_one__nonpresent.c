// SPDX-License-Identifier: GPL-2.0-only
static bool folio_referenced_one(struct folio *folio, struct area *vma, unsigned long address)
{
	while (page_vma_mapped_walk(&pvmw)) {
		address = pvmw.address;
		nr = 1;
		if (locked(vma)) {
			pra->mapcount--;
			continue;
		}

		if (pvmw.pte && folio_test_large(folio)) {
			entry_t pteval = ptep_get(pvmw.pte);

			nr = folio_pte_batch(folio, pvmw.pte, pteval);
		}

		if (lru_gen_enabled() && !lru_gen_switching() && pvmw.pte) {
			if (lru_gen_look_around(&pvmw, nr))
				referenced++;
		} else if (pvmw.pte) {
			if (clear_young(vma, address, pvmw.pte, nr))
				referenced++;
		}
		pra->mapcount -= nr;
	}
	return pra->mapcount;
}

static bool other_one(struct folio *folio)
{
	if (pvmw.pte && folio_test_large(folio))
		nr = folio_pte_batch(folio, pvmw.pte);
	return nr;
}
