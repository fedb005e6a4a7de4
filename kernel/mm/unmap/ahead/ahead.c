// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmapping ahead.  Of single pages, most of what reclaim does to unmap one is to find it: the
 * rmap walk, the walk of the page table, the flush.  Often the next folios on reclaim's list
 * are mapped by the next entries of the same table (MADV_PAGEOUT goes by address, and faults
 * often did).  Those are unmapped as well, under the same page-table lock.
 *
 * They stay on reclaim's list and are unlocked again.  The loop comes to them as ever, finds
 * nothing mapped, and does the rest.  What may happen to them in between is harmless; the table
 * in Documentation/mm/unmap.rst, "Unmapping ahead", says why.
 *
 * Law 14.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>

#include <asm/tlbflush.h>

#include "ahead.h"
#include "../evict/evict.h"
#include "../flush.h"
#include "../internal.h"
#include "../knobs.h"
#include "../rmap.h"
#include "../run.h"
#include "../stat.h"
#include "../window.h"

#define AHEAD_LONGEST_PAUSE	7
/* Each stretch is flushed, where stock flushes once for a batch of 31: shorter ones cost more. */
#define AHEAD_SHORT		4

DEFINE_PER_CPU(struct unmap_pause, unmap_ahead_pause);

static void ahead_learn(bool failed)
{
	unmap_pause_learn(&unmap_ahead_pause, failed, AHEAD_LONGEST_PAUSE);
}

/* Law 2: how many entries follow the first one in its table and VMA. */
static unsigned int ahead_following(const struct unmap_op *op)
{
	unsigned long addr = op->run.addr;

	return (min(addr | ~PMD_MASK, op->vma->vm_end - 1) - addr) >> PAGE_SHIFT;
}

/* Take the folio: lock it, if it may go.  Nobody is waited for. */
static bool ahead_take(const struct unmap_op *op, struct unmap_ahead *ahead,
		       struct folio *folio, pte_t pte)
{
	if (!unmap_ahead_is_mapped(folio, pte) || !folio_trylock(folio))
		return false;
	if (unmap_ahead_is_hot(ahead, folio, pte))
		unmap_count(UNMAP_STAT_AHEAD_HOT, 1);
	else if (unmap_ahead_may_go(op, ahead, folio, pte))
		return true;
	folio_unlock(folio);
	return false;
}

/**
 * unmap_ahead_collect - take the successors of a folio
 * @op: its @run is of the first folio
 * @ahead: gets the successors, locked, behind what it has
 *
 * Compares the entries behind the first folio's with the folios behind it, up to a mismatch.
 * Page-table lock held on entry and return.
 */
void unmap_ahead_collect(const struct unmap_op *op, struct unmap_ahead *ahead)
{
	unsigned int limit = min3(ahead_following(op), UNMAP_AHEAD_MAX - ahead->nr,
				  READ_ONCE(unmap_max_run) - 1);
	pte_t *ptep = op->run.ptep;
	struct list_head *pos;

	ahead->first = ahead->nr;
	limit += ahead->nr;
	for (pos = ahead->next; pos != ahead->rest && ahead->nr < limit; pos = pos->prev) {
		struct folio *folio = list_entry(pos, struct folio, lru);

		if (!ahead_take(op, ahead, folio, ptep_get(++ptep)))
			break;
		ahead->taken[ahead->nr++].folio = folio;
	}
}

/* Point @op at @taken, the stretch's @i-th successor. */
static void ahead_aim(struct unmap_op *op, const struct unmap_taken *taken, unsigned int i,
		      const struct pte_run *all)
{
	op->folio = taken->folio;
	op->run.ptep = all->ptep + i;
	op->run.addr = all->addr + i * PAGE_SIZE;
	op->run.nr = 1;
	op->run.pte = taken->pte;
	op->run.page = folio_page(op->folio, 0);
	op->run.deferred = all->deferred;
}

/* Clear the entries of all successors, and flush them: @op's @run becomes all of them. */
static void ahead_clear(struct unmap_op *op, struct unmap_ahead *ahead)
{
	struct unmap_taken *taken = ahead->taken + ahead->first;
	struct mm_struct *mm = op->vma->vm_mm;
	struct pte_run *all = &op->run;
	unsigned int i;

	all->ptep++;
	all->addr += PAGE_SIZE;
	all->nr = ahead->nr - ahead->first;
	VM_WARN_ON_ONCE((all->addr ^ (unmap_run_end(all) - 1)) & PMD_MASK);
	VM_WARN_ON_ONCE(all->addr < op->vma->vm_start || unmap_run_end(all) > op->vma->vm_end);
	flush_cache_range(op->vma, all->addr, unmap_run_end(all));

	all->pte = ptep_get_and_clear(mm, all->addr, all->ptep);
	taken[0].pte = all->pte;
	for (i = 1; i < all->nr; i++) {
		taken[i].pte = ptep_get_and_clear(mm, all->addr + i * PAGE_SIZE,
						  all->ptep + i);
		all->pte = unmap_arch_gather(all->pte, taken[i].pte);
	}
	run_flush_together(op);
	/* Faults do not lock a folio that was lazyfree: they map a new one at once. */
	if (ahead->kind == UNMAP_KIND_LAZYFREE)
		try_to_unmap_flush();
}

/*
 * Whether a cleared successor goes, or what became of it since it was looked at.  If it
 * stays, it is left as it was found: the loop judges it.
 */
static enum unmap_reason ahead_leave(struct unmap_op *op, const struct unmap_ahead *ahead)
{
	pte_t pte = op->run.pte;

	VM_WARN_ON_ONCE_FOLIO(pte_pfn(pte) != folio_pfn(op->folio), op->folio);
	VM_WARN_ON_ONCE_FOLIO(folio_mapcount(op->folio) != 1, op->folio);
	if (unlikely(ahead->references && pte_young(pte)))
		return UNMAP_STAYS_REFERENCED;
	if (ahead->kind == UNMAP_KIND_SWAP) {
		if (pte_dirty(pte))
			unmap_mark_dirty(op->folio);
		return unmap_swap_leave(op);
	}
	if (unlikely(pte_dirty(pte)))
		return UNMAP_STAYS_REDIRTIED;
	if (ahead->kind == UNMAP_KIND_LAZYFREE)
		return unmap_lazyfree_judge(op);
	return UNMAP_GOES;
}

/* Law 1.  Of a single page in a VMA that is not mlocked: like folio_remove_rmap_pte(). */
static void ahead_drop(const struct unmap_op *op, const struct unmap_ahead *ahead,
		       struct rmap_debt *debt)
{
	struct folio *folio = op->folio;
	bool anon = ahead->kind != UNMAP_KIND_FILE;

	unmap_run_assert_gone(op);
	__folio_rmap_sanity_checks(folio, op->run.page, 1, PGTABLE_LEVEL_PTE);
	VM_WARN_ON_ONCE_FOLIO(folio_test_anon(folio) != anon, folio);
	if (likely(atomic_add_negative(-1, &folio->_mapcount)))
		rmap_owe(debt, folio, anon ? NR_ANON_MAPPED : NR_FILE_MAPPED, 1);
	folio_put(folio);
	trace_run(op, ahead->kind);
	unmap_count_run(1);
}

/* Unmap the successors that may go.  Returns how many. */
static unsigned int ahead_retire(struct unmap_op *op, struct unmap_ahead *ahead)
{
	const struct unmap_taken *taken = ahead->taken + ahead->first;
	const struct pte_run all = op->run;
	struct rmap_debt debt = { .nr = 0 };
	unsigned int i, gone = 0;
	enum unmap_reason reason;

	for (i = 0; i < all.nr; i++) {
		ahead_aim(op, taken + i, i, &all);
		reason = ahead_leave(op, ahead);
		if (unlikely(reason != UNMAP_GOES)) {
			unmap_run_put_back(op, reason);
			continue;
		}
		ahead_drop(op, ahead, &debt);
		gone++;
	}
	rmap_pay_debt(&debt);
	return gone;
}

/* Law 4: account for all before the page-table lock is dropped. */
static void ahead_settle(struct unmap_op *op, const struct unmap_ahead *ahead,
			 unsigned int gone)
{
	unsigned int nr = ahead->nr - ahead->first;

	add_mm_counter(op->vma->vm_mm, mm_counter(op->folio), -(long)gone);
	if (ahead->kind == UNMAP_KIND_SWAP)
		add_mm_counter(op->vma->vm_mm, MM_SWAPENTS, gone);
	unmap_count(UNMAP_STAT_AHEAD_STRETCHES, 1);
	unmap_count(UNMAP_STAT_AHEAD_FOLIOS, gone);
	if (unlikely(gone < nr))
		unmap_count(UNMAP_STAT_AHEAD_PUT_BACK, nr - gone);
}

/*
 * Whether unmapping ahead gained less than it cost.  Pages that reclaim writes stock flushes one by
 * one.
 */
static bool ahead_was_short(const struct unmap_ahead *ahead)
{
	unsigned int nr = ahead->nr + ahead->wanted;

	return ahead->kind == UNMAP_KIND_SWAP ? !nr : nr < AHEAD_SHORT;
}

/* A process that is gone, or as good as gone: its memory is freed soon. */
static bool ahead_is_vain(const struct unmap_op *op, const struct unmap_ahead *ahead)
{
	return ahead->references && rmap_is_dying(op->vma, op->folio);
}

/* Unmap the successors.  Returns whether there are any. */
static bool ahead_unmap(struct unmap_op *op, struct unmap_ahead *ahead)
{
	if (ahead->nr == ahead->first)
		return false;
	update_hiwater_rss(op->vma->vm_mm);
	ahead_clear(op, ahead);
	ahead_settle(op, ahead, ahead_retire(op, ahead));
	return true;
}

/**
 * unmap_ahead_stretch - unmap the folios that follow one that ahead_list.c has unmapped
 * @op: its @run is of that folio, a single page; afterwards it is of the last successor
 * @ahead: unmap_ahead_suits() was true of the folio
 *
 * As unmap_ahead().  Gives no swap entries: those behind have theirs, or are refused.
 */
void unmap_ahead_stretch(struct unmap_op *op, struct unmap_ahead *ahead)
{
	VM_WARN_ON_ONCE(mm_has_notifiers(op->vma->vm_mm));
	unmap_ahead_collect(op, ahead);
	ahead_unmap(op, ahead);
}

/**
 * unmap_ahead - unmap the folios that follow the one that was unmapped
 * @op: its @run is of the first folio, evicted; afterwards it is of the last successor
 * @ahead: its successors stay locked until unmap_ahead_end()
 *
 * The page-table lock and the rmap lock of the first folio are held on entry and return: they
 * keep the VMA and the table.  No MMU notifier is registered with the mm, and none can be while
 * the rmap lock is held.
 *
 * If fork() mapped the first folio again, the rmap walk goes on in another VMA: then there is no
 * stretch, and the one that there is ends the walk.
 *
 * Return: whether there are successors whose entries were cleared.
 */
bool unmap_ahead(struct unmap_op *op, struct unmap_ahead *ahead)
{
	VM_WARN_ON_ONCE(mm_has_notifiers(op->vma->vm_mm));
	VM_WARN_ON_ONCE(ahead->nr || ahead->wanted);
	if (folio_mapped(op->folio))
		return false;
	if (!unmap_ahead_suits(op, ahead) || ahead_is_vain(op, ahead)) {
		ahead_learn(true);
		return false;
	}
	unmap_ahead_collect(op, ahead);
	if (IS_ENABLED(CONFIG_UNMAP_AHEAD_SWAP) && ahead->kind == UNMAP_KIND_SWAP && ahead->io)
		unmap_ahead_look(op, ahead, ahead_following(op) - ahead->nr);
	ahead_learn(ahead_was_short(ahead));
	if (!ahead->nr)
		unmap_count(UNMAP_STAT_AHEAD_MISSED, !ahead->wanted);
	return ahead_unmap(op, ahead);
}

/**
 * unmap_ahead_end - unlock the successors, and prepare the next ones
 * @ahead: the stretch
 *
 * The caller holds the lock of the first folio.  From now on anything may happen to the
 * successors: a fault may map a copy of a private file page, others may take a page out of its file
 * and map a new one, or take it from the swap cache.  A CPU with a stale TLB entry would go on
 * reading the old page, and miss what others store; so the flush comes first.  Stock flushes later,
 * but keeps a folio locked until it is freed.
 */
void unmap_ahead_end(struct unmap_ahead *ahead)
{
	unsigned int i;

	if (ahead->nr)
		try_to_unmap_flush();
	VM_WARN_ON_ONCE(ahead->nr && unmap_flush_is_due());
	for (i = 0; i < ahead->nr; i++)
		folio_unlock(ahead->taken[i].folio);
	if (ahead->nr || ahead->wanted)
		unmap_long_window();
	if (IS_ENABLED(CONFIG_UNMAP_AHEAD_SWAP) && ahead->wanted &&
	    !unmap_ahead_swap(ahead) && !ahead->nr)
		ahead_learn(true);
}
