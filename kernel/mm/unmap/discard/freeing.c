// SPDX-License-Identifier: GPL-2.0-only
/*
 * Freeing a batch of folios.  Stock changes the sizes of an LRU list for each folio that
 * leaves it: in the node, the zone and the control group.  Here folios that leave the same
 * list one after another are a stretch, for which the sizes change once.
 *
 * Law 13: the debt is paid before the lock of the lruvec is dropped.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/unmap.h>

#include "freeing.h"
#include "../compat_lru.h"
#include "../internal.h"

static void lru_debt_pay(struct lru_debt *debt)
{
	if (!debt->pages)
		return;
	if (debt->gen < 0)
		update_lru_size(debt->lruvec, debt->lru, debt->zid, -debt->pages);
	else
		lru_debt_pay_gen(debt);
	debt->pages = 0;
	debt->key = 0;
}

/* Pay, and drop the lock if it is held. */
static void lru_debt_settle(struct lru_debt *debt)
{
	if (!debt->lruvec)
		return;
	lru_debt_pay(debt);
	compat_lruvec_unlock_irqrestore(debt->lruvec, debt->irqs);
	debt->lruvec = NULL;
}

/* Pay, and have the lock of @folio's lruvec, which may be another one. */
static void lru_debt_lock(struct lru_debt *debt, struct folio *folio)
{
	lru_debt_pay(debt);
	folio_lruvec_relock_irqsave(folio, &debt->lruvec, &debt->irqs);
}

/*
 * Law 13: the lock that is held is that of the folio's lruvec, nobody else can use the folio, and
 * it is on the list from which the debt is taken.
 */
static __always_inline void assert_in_stretch(const struct lru_debt *debt, struct folio *folio)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_matches_lruvec(folio, debt->lruvec), folio);
	VM_WARN_ON_ONCE_FOLIO(folio_ref_count(folio) || folio_mapped(folio), folio);
	VM_WARN_ON_ONCE_FOLIO(folio_zonenum(folio) != debt->zid, folio);
	VM_WARN_ON_ONCE_FOLIO(lru_debt_gen(folio) != debt->gen, folio);
	VM_WARN_ON_ONCE_FOLIO(folio_lru_list(folio) != debt->lru, folio);
}

/*
 * Nobody else changes these flags without the lock: that takes a reference or a mapping, and
 * there is none left.  So they can be cleared with a plain store, as stock clears PG_lru; like
 * that store, it can lose a PG_hwpoison that memory_failure() sets at the same time.
 */
static __always_inline void take_off_list(struct lru_debt *debt, struct folio *folio)
{
	assert_in_stretch(debt, folio);
	list_del(&folio->lru);
	*compat_folio_flags(folio) &= ~LIST_FLAGS;
	debt->pages += folio_nr_pages(folio);
}

/*
 * Unevictable folios are on no list, and generations have no active folios: what is
 * unusual, or wrong, is stock's to handle and to report.
 */
static bool suits_stretch(struct folio *folio)
{
	return !folio_test_unevictable(folio) &&
	       (lru_debt_gen(folio) < 0 || !folio_test_active(folio));
}

static noinline void begin_stretch(struct lru_debt *debt, struct folio *folio)
{
	lru_debt_lock(debt, folio);
	if (!suits_stretch(folio)) {
		lruvec_del_folio(debt->lruvec, folio);
		__folio_clear_lru_flags(folio);
		return;
	}
	debt->key = READ_ONCE(*compat_folio_flags(folio)) & STRETCH_FLAGS;
	debt->charge = unmap_charge(folio);
	debt->lru = folio_lru_list(folio);
	debt->zid = folio_zonenum(folio);
	debt->gen = lru_debt_gen(folio);
	take_off_list(debt, folio);
}

/* Without a stretch the key is 0, which no folio has that is on a list. */
static __always_inline bool joins_stretch(const struct lru_debt *debt,
					  struct folio *folio)
{
	return (READ_ONCE(*compat_folio_flags(folio)) & STRETCH_FLAGS) == debt->key &&
	       unmap_charge(folio) == debt->charge;
}

/* @folio has no reference left. */
static __always_inline void leave_lru(struct lru_debt *debt, struct folio *folio)
{
	if (!folio_test_lru(folio))
		return;
	if (likely(joins_stretch(debt, folio)))
		take_off_list(debt, folio);
	else
		begin_stretch(debt, folio);
}

/* Device memory, hugetlb and the huge zero page are freed in ways of their own. */
static __always_inline bool is_special(struct folio *folio)
{
	if (unlikely(folio_is_zone_device(folio)))
		return true;
	return folio_test_large(folio) &&
	       (folio_test_hugetlb(folio) || is_huge_zero_folio(folio));
}

static noinline_for_stack void put_special(struct folio *folio, unsigned int refs)
{
	struct folio_batch alone;

	folio_batch_init(&alone);
	folio_batch_add(&alone, folio);
	stock_folios_put_refs(&alone, &refs);
}

/* Returns whether that was the last reference to @folio, which has left its LRU list then. */
static __always_inline bool put_one(struct lru_debt *debt, struct folio *folio,
				    unsigned int refs)
{
	if (unlikely(is_special(folio))) {
		lru_debt_settle(debt);
		put_special(folio, refs);
		return false;
	}
	if (!folio_ref_sub_and_test(folio, refs))
		return false;
	folio_unqueue_deferred_split(folio);
	leave_lru(debt, folio);
	return true;
}

/*
 * Those that are to be freed move to the front of the batch, past gaps.  The numbers in @refs
 * stay where they are.
 */
static void put_together(struct folio_batch *folios, unsigned int *refs)
{
	struct lru_debt debt = {};
	unsigned int i, nr = 0;

	for (i = 0; i < folio_batch_count(folios); i++) {
		struct folio *folio = folios->folios[i];

		if (!compat_is_gap(folio) && put_one(&debt, folio, refs ? refs[i] : 1))
			folios->folios[nr++] = folio;
	}
	lru_debt_settle(&debt);
	folios->nr = nr;
	if (nr) {
		mem_cgroup_uncharge_folios(folios);
		free_unref_folios(folios);
	}
	folio_batch_reinit(folios);
}

/**
 * folios_put_refs - drop references to a batch of folios, and free those without any left
 * @folios: the folios; empty on return
 * @refs: how many references to drop, one number a folio; NULL: one each
 *
 * Context: not in an NMI.  Takes the locks of lruvecs, with interrupts disabled, one at a
 * time; the caller holds none of them.  A folio that is alone in its batch has no debt to share:
 * stock frees it in fewer steps.
 */
void folios_put_refs(struct folio_batch *folios, unsigned int *refs)
{
	if (unmap_enabled(UNMAP_BIT_DISCARD) && folio_batch_count(folios) > 1)
		put_together(folios, refs);
	else
		stock_folios_put_refs(folios, refs);
}
