// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmapping ahead: swap entries.  A swap-backed anonymous folio needs one before it can be
 * unmapped, and allocating it takes mutexes, so neither the page-table lock nor the rmap lock may
 * be held.  So the folios behind a stretch are only looked at under the page-table lock, and
 * get their swap entries later.  They stay mapped.  When the loop of reclaim comes to the first
 * of them, it unmaps it, and the others with it as they are judged then.
 *
 * A folio that is mapped and in the swap cache is nothing new: those that reclaim cannot unmap
 * are.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/swap.h>

#include "ahead.h"
#include "../compat_swap.h"
#include "../internal.h"
#include "../knobs.h"
#include "../stat.h"

/**
 * unmap_ahead_look - find folios that need swap entries
 * @op: its @folio and its @run are the first of the stretch
 * @ahead: the stretch; gets the first folio that needs one, and their number
 * @left: how many entries follow the stretch in the table and the VMA
 *
 * Page-table lock held on entry and return.  Hot folios get no swap entry.
 */
void unmap_ahead_look(const struct unmap_op *op, struct unmap_ahead *ahead, unsigned int left)
{
	unsigned int limit = min3(left, (unsigned int)UNMAP_AHEAD_MAX,
				  READ_ONCE(unmap_max_run) - 1);
	pte_t *ptep = op->run.ptep + 1 + ahead->nr;
	struct list_head *pos = ahead->rest->prev;

	if (ahead->nr)
		pos = ahead->taken[ahead->nr - 1].folio->lru.prev;
	ahead->wanting = pos;
	for (; pos != ahead->rest && ahead->wanted < limit; pos = pos->prev) {
		struct folio *folio = list_entry(pos, struct folio, lru);

		if (!unmap_ahead_wants_swap(op, ahead, folio, ptep_get(ptep + ahead->wanted)))
			break;
		ahead->wanted++;
	}
}

/*
 * Whether there is room, so that none is refused and counted as such twice: here, and
 * when the loop comes to it.  The last swap entries are left to those whose turn it is: a folio
 * that is in use again when the loop comes to it keeps its own.  RCU keeps the memcg and its
 * parents: on 7.3 the folio's lock keeps only what it is charged to, and the memcg behind that may
 * go.  Room for a large folio may be in pieces: then the loop asks again, and the failure counts
 * twice.
 */
static bool ahead_swap_has_room(struct folio *folio)
{
	struct mem_cgroup *memcg;
	long room;

	rcu_read_lock();
	memcg = folio_memcg(folio);
	room = memcg ? mem_cgroup_get_nr_swap_pages(memcg) : get_nr_swap_pages();
	rcu_read_unlock();
	return room >= folio_nr_pages(folio) + UNMAP_AHEAD_MAX;
}

/*
 * Look again: nothing but the folio lock keeps the folio as it was.  Then do what the loop
 * would do.  It gives no swap entry to a large folio that has references which are not its own,
 * and splits one that is partially mapped.
 */
static bool ahead_swap_one(struct folio *folio)
{
	bool done;

	if (!folio_test_anon(folio) || !folio_test_swapbacked(folio) ||
	    folio_test_swapcache(folio) || !folio_mapped(folio) ||
	    unmap_ahead_needs_care(folio))
		return false;
	if (folio_test_large(folio) &&
	    (folio_test_partially_mapped(folio) || !compat_refs_are_ours(folio)))
		return false;
	done = ahead_swap_has_room(folio) && compat_swap_alloc(folio);
	/* Reclaim would drop a clean folio without writing it. */
	VM_WARN_ON_ONCE_FOLIO(done && !folio_test_dirty(folio), folio);
	return done;
}

/**
 * unmap_ahead_swap_one - give a swap entry to a folio, for ahead_list.c
 * @folio: locked
 *
 * May sleep.  The first folio is locked, too.
 *
 * Return: whether it got one.
 */
bool unmap_ahead_swap_one(struct folio *folio)
{
	bool done = ahead_swap_one(folio);

	unmap_count(UNMAP_STAT_AHEAD_SLOTS, done ? folio_nr_pages(folio) : 0);
	return done;
}

/**
 * unmap_ahead_swap - give swap entries to the folios that unmap_ahead_look() has found
 * @ahead: the stretch
 *
 * May sleep.  Each folio is locked while it gets its swap entry, if nobody else has locked it.  The
 * first folio of the stretch is locked, too, and unmapped: its process may wait for it.  So stops
 * if another task should run, or did; and at the first folio that gets none, or whose swap entry
 * the next one got: where swap is nearly full, entries that nobody uses yet are taken back.
 *
 * Return: how many got one.
 */
unsigned int unmap_ahead_swap(struct unmap_ahead *ahead)
{
	struct list_head *pos = ahead->wanting;
	unsigned long switches = unmap_ahead_switches();
	struct folio *last = NULL;
	unsigned int left;

	for (left = ahead->wanted; left; left--, pos = pos->prev) {
		struct folio *folio = list_entry(pos, struct folio, lru);
		bool done;

		if (last && !folio_test_swapcache(last))
			break;
		if (need_resched() || unmap_ahead_switches() != switches ||
		    !folio_trylock(folio))
			break;
		done = ahead_swap_one(folio);
		folio_unlock(folio);
		if (!done)
			break;
		last = folio;
	}
	unmap_count(UNMAP_STAT_AHEAD_SLOTS, ahead->wanted - left);
	return ahead->wanted - left;
}
