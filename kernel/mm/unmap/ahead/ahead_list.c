// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmapping ahead: one flush for many writes.  Before reclaim writes a page that other CPUs may
 * still write to, it flushes their TLBs: once for each folio, because it unmaps and writes one
 * after the other.  So when such a flush is due, the folios behind on reclaim's list are unmapped
 * before it is made.  They need not be neighbours of the first one, nor single pages.  Among
 * them, those that are mapped next to each other go as a stretch (ahead.c).
 *
 * All of them are locked until the flush was made.
 *
 * Law 14.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched.h>

#include "ahead.h"
#include "../evict/evict.h"
#include "../flush.h"
#include "../internal.h"
#include "../knobs.h"
#include "../rmap.h"
#include "../run.h"
#include "../stat.h"

#define LIST_LONGEST_PAUSE	31
#define LIST_REFUSED_MAX	8
#define LIST_VMAS_MAX		8

static DEFINE_PER_CPU(struct unmap_pause, list_pause);

/*
 * Whether the loop would unmap the folio, so far as can be seen without its entries: it is
 * locked, and must be mapped once, page by page.  Dirty pages of files the loop does not write.
 */
static bool list_may_go(struct folio *folio)
{
	return folio_test_swapbacked(folio) && folio_mapped(folio) &&
	       folio_mapcount(folio) == folio_nr_pages(folio) &&
	       !folio_test_hugetlb(folio) && folio_evictable(folio) &&
	       !unmap_ahead_needs_care(folio);
}

/* Whether the page's content can be written without a swap entry being allocated first. */
static bool list_has_backing(struct folio *folio)
{
	return folio_test_swapcache(folio) ||
	       (folio_test_swapbacked(folio) && !folio_test_anon(folio));
}

/*
 * Law 14: whether the loop would leave the folio because of how its memory is used.  One look
 * for each contiguous block of arm64: the first of its entries tells whether any is young.
 */
static bool list_is_hot(const struct unmap_op *op, const struct unmap_ahead *ahead)
{
	pte_t *ptep = op->run.ptep, *end = ptep + op->run.nr, pte;

	if (!ahead->references)
		return false;
	for (; ptep < end; ptep += pte_batch_hint(ptep, pte)) {
		pte = ptep_get(ptep);
		if (unmap_ahead_is_hot(ahead, op->folio, pte))
			return true;
	}
	return rmap_is_dying(op->vma, op->folio);
}

/* Whether the run is all of the folio, and may go. */
static bool list_suits(const struct unmap_op *op, struct unmap_ahead *ahead)
{
	if (op->run.nr != folio_nr_pages(op->folio) ||
	    folio_mapcount(op->folio) != op->run.nr || !unmap_ahead_suits(op, ahead))
		return false;
	if (!list_is_hot(op, ahead))
		return true;
	unmap_count(UNMAP_STAT_AHEAD_HOT, 1);
	return false;
}

/* Unmap a whole folio, unless it was referenced since list_suits() has looked. */
static bool list_evict(struct unmap_op *op, struct unmap_ahead *ahead)
{
	unmap_run_clear(op);
	if (likely(!ahead->references || !pte_young(op->run.pte)))
		return unmap_evict_cleared(op);
	unmap_run_put_back(op, UNMAP_STAYS_REFERENCED);
	return false;
}

/**
 * struct list_search - search for the VMA that maps a folio
 * @ahead: gets the stretch that the folio leads, if it is evicted
 * @looks: only look at the folio's entries
 * @done: the folio may go, if @looks; otherwise it was evicted
 * @left: in how many VMAs to search still
 */
struct list_search {
	struct unmap_ahead *ahead;
	bool looks;
	bool done;
	unsigned char left;
};

/* Look at the folio, or evict it, with the stretch that it leads.  Page-table lock held. */
static void list_entry_found(struct unmap_op *op, struct list_search *search,
			     struct page_vma_mapped_walk *pvmw)
{
	struct unmap_ahead *ahead = search->ahead;

	unmap_evict_aim(op, pvmw);
	search->done = list_suits(op, ahead) && (search->looks || list_evict(op, ahead));
	if (search->done && !search->looks && ahead->kind == UNMAP_KIND_SWAP &&
	    !folio_test_large(op->folio))
		unmap_ahead_stretch(op, ahead);
}

/*
 * Called by the rmap walk, which ends with the VMA that maps the folio: nothing is left to do in
 * another one.  See ahead_from_vma() for MMU notifiers.
 */
static bool list_from_vma(struct folio *folio, struct vm_area_struct *vma,
			  unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct unmap_op op __uninitialized;
	struct list_search *search = arg;

	if (mm_has_notifiers(vma->vm_mm))
		return false;
	if (!page_vma_mapped_walk(&pvmw))
		return --search->left;
	unmap_op_begin(&op, folio, vma, search->ahead->flags);
	if (pvmw.pte)
		list_entry_found(&op, search, &pvmw);
	page_vma_mapped_walk_done(&pvmw);
	return false;
}

/*
 * Evict the folio; or find out whether it may go, if @looks.  Nobody is waited for, and few VMAs
 * are searched: other folios are locked meanwhile.
 */
static bool list_walk(struct folio *folio, struct unmap_ahead *ahead, bool looks)
{
	struct list_search search = { .ahead = ahead, .looks = looks, .left = LIST_VMAS_MAX };
	struct rmap_walk_control rwc = {
		.rmap_one = list_from_vma,
		.arg = &search,
		.anon_lock = folio_lock_anon_vma_read,
		.try_lock = true,
	};

	rmap_walk(folio, &rwc);
	return search.done;
}

/* Where references count, a hot folio gets no swap entry. */
static bool list_may_get_swap(struct folio *folio, struct unmap_ahead *ahead)
{
	return !ahead->references || list_walk(folio, ahead, true);
}

/*
 * Whether the folio may be taken afterwards, as far as can be seen; it gets a swap entry if it
 * needs one.
 */
static bool list_prepare(struct folio *folio, struct unmap_ahead *ahead)
{
	bool ready;

	/* Hints: list_take() looks again, with the folio locked. */
	if (list_has_backing(folio))
		return true;
	if (!IS_ENABLED(CONFIG_UNMAP_AHEAD_SWAP) || !ahead->io ||
	    !folio_test_swapbacked(folio) || !folio_trylock(folio))
		return false;
	ready = list_may_go(folio) && list_may_get_swap(folio, ahead) &&
		unmap_ahead_swap_one(folio);
	folio_unlock(folio);
	return ready;
}

/* Unmap the folio, and keep it locked.  False, too, if somebody else unmaps it meanwhile. */
static bool list_take(struct folio *folio, struct unmap_ahead *ahead)
{
	unsigned int at = ahead->nr;

	if (!folio_trylock(folio))
		return false;
	if (list_has_backing(folio) && list_may_go(folio)) {
		ahead->taken[ahead->nr++].folio = folio;
		if (list_walk(folio, ahead, false))
			return true;
	}
	VM_WARN_ON_ONCE(ahead->nr > at + 1);
	ahead->nr = at;
	folio_unlock(folio);
	return false;
}

/* The folios of the list that are looked at, and how many of them are still mapped. */
struct list_look {
	unsigned int seen;
	unsigned int mapped;
};

/*
 * Give swap entries to those that need one: that may take long, so only one of them is locked
 * meanwhile, and others may run.  The first folio is locked, too: stop once others did run.  Stop
 * also where none seems to go; of large folios after two that stay, because to find that the room
 * for one is in pieces takes long; and where swap is so full that one gets what the last one got.
 */
static struct list_look list_prepare_all(struct unmap_ahead *ahead)
{
	struct list_head *pos = ahead->rest->prev;
	unsigned long switches = unmap_ahead_switches();
	struct folio *last = NULL;
	struct list_look look = { };
	unsigned int refused = 0;

	for (; pos != ahead->rest && look.seen < UNMAP_AHEAD_MAX; pos = pos->prev) {
		struct folio *folio = list_entry(pos, struct folio, lru);

		look.seen++;
		if (!folio_mapped(folio))
			continue;
		if (last && !list_has_backing(last))
			break;
		look.mapped++;
		last = list_prepare(folio, ahead) ? folio : NULL;
		if (last)
			refused = 0;
		else
			refused += folio_test_large(folio) ? LIST_REFUSED_MAX / 2 : 1;
		cond_resched();
		if (refused >= LIST_REFUSED_MAX || unmap_ahead_switches() != switches)
			break;
	}
	return look;
}

/*
 * Unmap what can be unmapped of the next @left folios.  They are locked until the flush, so stop
 * if another task should run, or did.  Returns whether all were looked at.
 */
static bool list_take_all(struct unmap_ahead *ahead, unsigned int left)
{
	struct list_head *pos = ahead->rest->prev;
	unsigned long switches = unmap_ahead_switches();

	for (; left && pos != ahead->rest && ahead->nr < UNMAP_AHEAD_MAX; left--) {
		if (need_resched() || unmap_ahead_switches() != switches)
			return false;
		ahead->next = pos->prev;
		if (list_take(list_entry(pos, struct folio, lru), ahead))
			pos = &ahead->taken[ahead->nr - 1].folio->lru;
		pos = pos->prev;
	}
	return true;
}

/* Unmap the folios that the loop of reclaim would unmap and write next, and flush for all. */
static noinline void list_share_flush(struct list_head *rest, bool references, bool io)
{
	struct unmap_ahead ahead __uninitialized;
	struct list_look look;

	ahead.flags = TTU_BATCH_FLUSH;
	ahead.kind = UNMAP_KIND_SWAP;
	ahead.references = references;
	ahead.io = io;
	ahead.rest = rest;
	ahead.wanted = 0;
	ahead.nr = 0;
	look = list_prepare_all(&ahead);
	/* If few of the folios went, pause for some first folios. */
	if (list_take_all(&ahead, look.seen))
		unmap_pause_learn(&list_pause, 4 * ahead.nr < look.mapped, LIST_LONGEST_PAUSE);
	unmap_count(UNMAP_STAT_AHEAD_LISTED, ahead.nr);
	unmap_ahead_end(&ahead);
	VM_WARN_ON_ONCE(ahead.nr && unmap_flush_precedes_write());
}

/**
 * unmap_flush_for_write - try_to_unmap_flush_dirty() for reclaim, which may unmap ahead
 * @folio: locked, and written next; this reclaim has locked no other folio, but who allocates
 *	memory and so came to reclaim may have
 * @rest: the caller's list of the folios that it comes to next, the last one first; it holds a
 *	reference to each of them, and no lock
 * @may_unmap: whether reclaim may unmap folios at all
 * @ignore_references: whether to unmap folios that were referenced
 * @gfp: what reclaim may do
 *
 * May sleep, if @folio is swap-backed.  A filesystem's folio stays locked no longer than in stock:
 * to allocate swap entries meanwhile might wait for that filesystem.
 *
 * Some folios of @rest may be unmapped afterwards, or in the swap cache.
 */
void unmap_flush_for_write(struct folio *folio, struct list_head *rest, bool may_unmap,
			   bool ignore_references, gfp_t gfp)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	if (!unmap_flush_precedes_write())
		return;
	if (unmap_enabled(UNMAP_BIT_EVICT) && may_unmap && folio_test_swapbacked(folio) &&
	    !list_empty(rest) && READ_ONCE(unmap_max_run) > 1 &&
	    !unmap_pauses(&list_pause))
		list_share_flush(rest, !ignore_references, gfp & __GFP_IO);
	try_to_unmap_flush_dirty();
}
