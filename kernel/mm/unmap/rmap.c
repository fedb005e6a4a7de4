// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removing the rmap of runs.  Statistics are updated once for many folios, as long as
 * these have the same memcg, node and type.
 */
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/vmstat.h>

#include "rmap.h"

/**
 * rmap_note_partly_mapped - queue a folio of which some pages are still mapped
 * @folio: large; if it is anonymous, it may be split under pressure
 */
void rmap_note_partly_mapped(struct folio *folio)
{
	if (folio_test_anon(folio) && !folio_test_partially_mapped(folio) &&
	    !folio_is_device_private(folio))
		deferred_split_folio(folio, true);
}

/* Whether some pages of a large folio are mapped, and others are not. */
static bool rmap_is_partly_mapped(struct folio *folio)
{
	int nr = folio_large_nr_pages(folio), mapped;

	if (IS_ENABLED(CONFIG_NO_PAGE_MAPCOUNT)) {
		mapped = folio_large_mapcount(folio);
		return mapped && mapped < nr && !folio_entire_mapcount(folio);
	}
	/* ENTIRELY_MAPPED, which a PMD adds, is more than any folio has pages. */
	mapped = atomic_read(&folio->_nr_pages_mapped);
	return mapped && mapped < nr;
}

/**
 * rmap_note_if_partly_mapped - queue a folio that is not mapped as a whole any more
 * @folio: large, and locked, so that no entry that maps it becomes a migration entry
 *
 * Others may unmap pages meanwhile: then they queue the folio.
 */
void rmap_note_if_partly_mapped(struct folio *folio)
{
	if (rmap_is_partly_mapped(folio))
		rmap_note_partly_mapped(folio);
}

/**
 * rmap_open_debt - start a debt for pages with another memcg, node or type
 * @debt: paid first, if it has not been
 * @folio: its mapcount was just decremented
 * @item: the statistic that counts the pages
 */
void rmap_open_debt(struct rmap_debt *debt, struct folio *folio, enum node_stat_item item)
{
	struct mem_cgroup *memcg = folio_memcg(folio);

	rmap_pay_debt(debt);
	debt->lruvec = memcg ? mem_cgroup_lruvec(memcg, folio_pgdat(folio)) : NULL;
	debt->charge = unmap_charge(folio);
	debt->nid = folio_nid(folio);
	debt->item = item;
}

/**
 * rmap_pay_debt - update the statistics of mapped pages
 * @debt: zero afterwards
 *
 * Law 4.
 */
void rmap_pay_debt(struct rmap_debt *debt)
{
	int nr = debt->nr;

	if (!nr)
		return;
	debt->nr = 0;
	if (debt->lruvec)
		compat_mod_lruvec_state(debt->lruvec, debt->item, -nr);
	else
		__mod_node_page_state(NODE_DATA(debt->nid), debt->item, -nr);
}

/**
 * rmap_is_dying - whether the folio is freed soon, so that reclaim must leave it
 * @vma: maps it
 * @folio: the page-table lock of an entry that maps it is held
 *
 * True of swap-backed memory of a process that is gone, or as good as gone.
 */
bool rmap_is_dying(const struct vm_area_struct *vma, struct folio *folio)
{
	struct mm_struct *mm = vma->vm_mm;

	if (likely(atomic_read(&mm->mm_users) && !check_stable_address_space(mm)))
		return false;
	return folio_test_anon(folio) && folio_test_swapbacked(folio) &&
	       !folio_maybe_mapped_shared(folio);
}
