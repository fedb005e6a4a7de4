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

#include "ahead.h"
#include "flush.h"
#include "internal.h"
#include "run.h"

#define LIST_LONGEST_PAUSE	31
#define LIST_REFUSED_MAX	8

static DEFINE_PER_CPU(struct unmap_ahead_pause, list_pause);

/* Whether to try.  Bounds what is lost where the folios behind must not go: see list_learn(). */
static bool list_pauses(void)
{
	unsigned char left = raw_cpu_read(list_pause.left);

	if (likely(!left))
		return false;
	raw_cpu_write(list_pause.left, left - 1);
	return true;
}

/* If few of the folios went, pause for 1, 3, 7, 15, 31, 31... first folios. */
static void list_learn(unsigned int looked, unsigned int gone)
{
	unsigned char length = 0;

	if (4 * gone < looked)
		length = min(2 * raw_cpu_read(list_pause.length) + 1, LIST_LONGEST_PAUSE);
	raw_cpu_write(list_pause.length, length);
	raw_cpu_write(list_pause.left, length);
}

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
static bool list_has_place(struct folio *folio)
{
	return folio_test_swapcache(folio) ||
	       (folio_test_swapbacked(folio) && !folio_test_anon(folio));
}

/* Law 14: whether the run is all of the folio, and was not referenced. */
static bool list_suits(struct unmap_op *op, struct unmap_ahead *ahead)
{
	struct folio *folio = op->folio;
	unsigned int i;

	if (op->run.nr != folio_nr_pages(folio) || folio_mapcount(folio) != op->run.nr ||
	    !unmap_ahead_suits(op, ahead))
		return false;
	for (i = 0; i < op->run.nr; i++) {
		if (unmap_ahead_is_hot(ahead, folio, ptep_get(op->run.ptep + i))) {
			unmap_count(UNMAP_STAT_AHEAD_HOT, 1);
			return false;
		}
	}
	return true;
}

/* Unmap a whole folio, unless it was referenced since list_suits() has looked. */
static bool list_evict(struct unmap_op *op, const struct unmap_ahead *ahead)
{
	unmap_run_clear(op);
	if (likely(!ahead->references || !pte_young(op->run.pte)))
		return unmap_evict_cleared(op);
	unmap_run_put_back(op, UNMAP_STAYS_REFERENCED);
	return false;
}

/*
 * Look at the folio's entries, or evict it, with the stretch that it leads.  Called by the rmap
 * walk, which ends with the first VMA: nothing is left to do in another one.  See
 * evict_from_vma_ahead() for MMU notifiers.
 */
static bool list_from_vma(struct folio *folio, struct vm_area_struct *vma,
			  unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct unmap_ahead *ahead = arg;
	struct unmap_op op __uninitialized;

	op.folio = folio;
	op.vma = vma;
	op.flags = ahead->flags;
	op.mlocked = 0;

	if (mm_has_notifiers(vma->vm_mm))
		return false;
	if (!page_vma_mapped_walk(&pvmw))
		return true;
	if (pvmw.pte) {
		unmap_evict_aim(&op, &pvmw);
		ahead->suits = list_suits(&op, ahead);
		if (ahead->suits && !ahead->looks && list_evict(&op, ahead) &&
		    !folio_test_large(folio) && ahead->kind == UNMAP_KIND_SWAP)
			unmap_ahead_stretch(&op, ahead);
	}
	page_vma_mapped_walk_done(&pvmw);
	return false;
}

/* Nobody is waited for. */
static void list_walk(struct folio *folio, struct unmap_ahead *ahead)
{
	struct rmap_walk_control rwc = {
		.rmap_one = list_from_vma,
		.arg = ahead,
		.anon_lock = folio_lock_anon_vma_read,
		.try_lock = true,
	};

	ahead->suits = false;
	rmap_walk(folio, &rwc);
}

/* Where references count, a hot folio gets no swap entry. */
static bool list_is_cold(struct folio *folio, struct unmap_ahead *ahead)
{
	if (!ahead->references)
		return true;
	ahead->looks = true;
	list_walk(folio, ahead);
	ahead->looks = false;
	return ahead->suits;
}

/*
 * Whether the folio may be taken afterwards, as far as can be seen; it gets a swap entry if it
 * needs one.
 */
static bool list_prepare(struct folio *folio, struct unmap_ahead *ahead)
{
	bool ready;

	/* A hint: list_take() looks again, with the folio locked. */
	if (list_has_place(folio))
		return true;
	if (!ahead->io || !folio_trylock(folio))
		return false;
	ready = list_may_go(folio) && list_is_cold(folio, ahead) &&
		unmap_ahead_swap_one(folio);
	folio_unlock(folio);
	return ready;
}

/* Unmap the folio, and keep it locked. */
static bool list_take(struct folio *folio, struct unmap_ahead *ahead)
{
	unsigned int at = ahead->nr;

	if (!folio_trylock(folio))
		return false;
	if (list_has_place(folio) && list_may_go(folio)) {
		ahead->taken[ahead->nr++].folio = folio;
		list_walk(folio, ahead);
		if (!folio_mapped(folio))
			return true;
	}
	VM_WARN_ON_ONCE(ahead->nr > at + 1);
	ahead->nr = at;
	folio_unlock(folio);
	return false;
}

/*
 * Give swap entries to those that need one: that takes long, so only one of them is locked
 * meanwhile.  Stops where none seems to go.  Returns how many were looked at.
 */
static unsigned int list_prepare_all(struct unmap_ahead *ahead)
{
	unsigned int looked = 0, refused = 0;
	struct list_head *pos = ahead->rest->prev;

	while (pos != ahead->rest && looked < UNMAP_AHEAD_MAX && refused < LIST_REFUSED_MAX) {
		if (list_prepare(list_entry(pos, struct folio, lru), ahead))
			refused = 0;
		else
			refused++;
		looked++;
		pos = pos->prev;
	}
	return looked;
}

/*
 * Unmap what can be unmapped of the next @left folios.  They are locked until the flush, so stop
 * if another task should run.
 */
static void list_take_all(struct unmap_ahead *ahead, unsigned int left)
{
	struct list_head *pos = ahead->rest->prev;

	for (; left && pos != ahead->rest && ahead->nr < UNMAP_AHEAD_MAX; left--) {
		ahead->next = pos->prev;
		if (need_resched())
			break;
		if (list_take(list_entry(pos, struct folio, lru), ahead))
			pos = &ahead->taken[ahead->nr - 1].folio->lru;
		pos = pos->prev;
	}
}

/**
 * unmap_ahead_list - unmap the folios that the loop of reclaim would unmap and write next
 * @ahead: its @flags, @rest, @references and @io are set
 *
 * Called when a flush is due before the folio is written that was unmapped just now.  Its lock is
 * held, and no other.  May sleep.  Afterwards that flush was made, if it serves others, too.
 */
void unmap_ahead_list(struct unmap_ahead *ahead)
{
	unsigned int looked;

	if (list_pauses() || READ_ONCE(unmap_max_run) == 1)
		return;
	ahead->kind = UNMAP_KIND_SWAP;
	ahead->looks = false;
	ahead->wanted = 0;
	ahead->nr = 0;
	looked = list_prepare_all(ahead);
	list_take_all(ahead, looked);
	list_learn(looked, ahead->nr);
	unmap_count(UNMAP_STAT_AHEAD_LISTED, ahead->nr);
	ahead->kind = UNMAP_KIND_SWAP;	/* or it is that of the last one */
	unmap_ahead_end(ahead);
}
