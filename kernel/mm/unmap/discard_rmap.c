// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking runs out of rmap, with statistics for as many folios as agree in
 * where they count.
 */
#include <linux/mm.h>
#include <linux/vmstat.h>

#include "discard.h"

/* Some pages of an anonymous folio are mapped no more, others are. */
static void discard_note_partly_mapped(struct folio *folio)
{
	if (folio_test_anon(folio) && !folio_test_partially_mapped(folio))
		deferred_split_folio(folio, true);
}

/**
 * discard_rmap_large - take pages of a large folio out of rmap
 * @folio: not hugetlb
 * @page: the first of its pages
 * @nr: how many; nothing maps them here any more
 *
 * What folio_remove_rmap_ptes() does, but for statistics and mlock.
 *
 * Return: how many of the folio's pages count as mapped no more.
 */
int discard_rmap_large(struct folio *folio, struct page *page, unsigned int nr)
{
	struct page *end = page + nr;
	int last = 0, left;

	atomic_sub(nr, &folio->_large_mapcount);
	for (; page < end; page++)
		last += atomic_add_negative(-1, &page->_mapcount);
	if (!last)
		return 0;

	left = atomic_sub_return_relaxed(last, &folio->_nr_pages_mapped);
	/* A PMD maps all of it still: its pages count as mapped. */
	if (left >= ENTIRELY_MAPPED)
		return 0;
	if (left)
		discard_note_partly_mapped(folio);
	return last;
}

/**
 * discard_open_debt - begin to owe for pages that count elsewhere
 * @debt: what is owed so far is paid
 * @folio: was mapped a moment ago
 * @item: what it counts as
 */
void discard_open_debt(struct rmap_debt *debt, struct folio *folio,
		       enum node_stat_item item)
{
	struct mem_cgroup *memcg = folio_memcg(folio);

	discard_pay_debt(debt);
	debt->lruvec = memcg ? mem_cgroup_lruvec(memcg, folio_pgdat(folio)) : NULL;
	debt->charge = compat_charge(folio);
	debt->nid = folio_nid(folio);
	debt->item = item;
}

/**
 * discard_pay_debt - bring statistics up to date
 * @debt: nothing is owed afterwards
 *
 * Law 4.
 */
void discard_pay_debt(struct rmap_debt *debt)
{
	int nr = debt->nr;

	if (!nr)
		return;
	debt->nr = 0;
	if (debt->lruvec)
		__mod_lruvec_state(debt->lruvec, debt->item, -nr);
	else
		__mod_node_page_state(NODE_DATA(debt->nid), debt->item, -nr);
}
