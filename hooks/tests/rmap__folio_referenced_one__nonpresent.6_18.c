// SPDX-License-Identifier: GPL-2.0-only
static bool folio_referenced_one(struct folio *folio, struct area *vma, unsigned long address)
{
	while (page_vma_mapped_walk(&pvmw)) {
		address = pvmw.address;
		if (lru_gen_enabled() && pvmw.pte) {
			if (lru_gen_look_around(&pvmw))
				referenced++;
		} else if (pvmw.pte) {
			if (clear_young(vma, address, pvmw.pte))
				referenced++;
		}
		pra->mapcount--;
	}
	return pra->mapcount;
}
