// SPDX-License-Identifier: GPL-2.0-only
static void __page_cache_release(struct folio *folio, struct lruvec **lruvecp,
				 unsigned long *flagsp)
{
	if (folio_test_lru(folio)) {
		folio_lruvec_relock_irqsave(folio, lruvecp, flagsp);
		lruvec_del_folio(*lruvecp, folio);
		__folio_clear_lru_flags(folio);
	}
}

void folios_put_refs(struct folio_batch *folios, unsigned int *refs)
{
	struct lruvec *lruvec = NULL;
	unsigned long flags = 0;
	int i, j = 0;

	for (i = 0; i < folios->nr; i++) {
		struct folio *folio = folios->folios[i];

		if (!folio)
			continue;
		if (!folio_ref_sub_and_test(folio, refs ? refs[i] : 1))
			continue;
		if (folio_test_hugetlb(folio)) {
			if (lruvec) {
				lruvec_unlock_irqrestore(lruvec, flags);
				lruvec = NULL;
			}
			free_huge_folio(folio);
			continue;
		}
		folio_unqueue_deferred_split(folio);
		__page_cache_release(folio, &lruvec, &flags);
		if (j != i)
			folios->folios[j] = folio;
		j++;
	}
	if (lruvec)
		lruvec_unlock_irqrestore(lruvec, flags);
	if (!j) {
		folio_batch_reinit(folios);
		return;
	}
	mem_cgroup_uncharge_folios(folios);
	free_unref_folios(folios);
}
EXPORT_SYMBOL(folios_put_refs);

void caller(struct folio_batch *folios)
{
	folios_put_refs(folios, NULL);
}
