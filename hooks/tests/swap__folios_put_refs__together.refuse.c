// SPDX-License-Identifier: GPL-2.0-only
/* Stock takes a step more, which freeing.c does not. */
static void __page_cache_release(struct folio *folio, struct lruvec **lruvecp,
				 unsigned long *flagsp)
{
	if (folio_test_lru(folio)) {
		folio_lruvec_relock_irqsave(folio, lruvecp, flagsp);
		lruvec_del_folio(*lruvecp, folio);
		count_mlocked(folio);
		__folio_clear_lru_flags(folio);
	}
}

void folios_put_refs(struct folio_batch *folios, unsigned int *refs)
{
	int i, j = 0;

	for (i = 0; i < folios->nr; i++) {
		struct folio *folio = folios->folios[i];

		if (folio_test_hugetlb(folio)) {
			free_huge_folio(folio);
			continue;
		}
		folio_unqueue_deferred_split(folio);
		__page_cache_release(folio, &lruvec, &flags);
		if (j != i)
			folios->folios[j] = folio;
		j++;
	}
	if (!j)
		return;
	mem_cgroup_uncharge_folios(folios);
	free_unref_folios(folios);
}
EXPORT_SYMBOL(folios_put_refs);

void caller(struct folio_batch *folios)
{
	folios_put_refs(folios, NULL);
}
