// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clearing a run and flushing it from the TLBs: one invalidation for all of its
 * entries, or one record for the deferred flush.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "flush.h"
#include "internal.h"
#include "stat.h"

/*
 * If no other CPU has the mm in use, stock code flushes each entry at once.  For a
 * run, one full flush at the end of reclaim's batch is cheaper, as it is for ranges
 * of more than a few pages.  Not where that flush reaches other CPUs, too.
 */
static bool run_worth_deferring(const struct unmap_op *op)
{
	return UNMAP_ARCH_ONE_FLUSH && !UNMAP_ARCH_FLUSH_REACHES_ALL &&
	       (op->flags & TTU_BATCH_FLUSH);
}

static bool run_is_clean(const struct unmap_op *op)
{
	return !pte_dirty(op->run.pte) && !folio_test_dirty(op->folio);
}

/* Dirty folios seldom: reclaim makes the deferred flush before each folio that it writes out. */
static bool run_may_wait_for_flush(const struct unmap_op *op)
{
	return (run_defers_flush(op) && !run_is_written_back(op)) ||
	       (run_worth_deferring(op) && run_is_clean(op));
}

static void run_flush_range(const struct unmap_op *op)
{
	const struct pte_run *run = &op->run;

	if (!pte_accessible(op->vma->vm_mm, run->pte))
		return;
	flush_tlb_range(op->vma, run->addr, unmap_run_end(run));
	unmap_count(UNMAP_STAT_FLUSHES, 1);
}

/* Of a folio that moves: one flush serves all that are copied next, written or not. */
static bool run_may_wait_for_copy(const struct unmap_op *op)
{
	return run_defers_flush(op) || run_worth_deferring(op);
}

static void run_clear_many(struct unmap_op *op, bool locked)
{
	struct pte_run *run = &op->run;
	pte_t first = run->pte;

	run_assert_bounds(op);
	flush_cache_range(op->vma, run->addr, unmap_run_end(run));
	run->pte = unmap_arch_clear(op->vma->vm_mm, run->addr, run->ptep,
				    run->nr, 0);
	/*
	 * Gathering dirty may have set soft-dirty, too (x86 pte_mkdirty() does).
	 * The entries agreed in soft-dirty: restore the first one's.
	 */
	if (!pte_soft_dirty(first))
		run->pte = pte_clear_soft_dirty(run->pte);
	if (locked ? run_may_wait_for_copy(op) : run_may_wait_for_flush(op))
		run_note_flush(op);
	else
		run_flush_range(op);
}

/**
 * unmap_run_clear - clear a run's entries and flush them from the TLBs
 * @op: its @run's @pte gets the accessed and dirty bits of all entries
 *
 * With TTU_BATCH_FLUSH the TLBs may keep the translations until reclaim calls
 * try_to_unmap_flush(), but not of what writeback may write.  The next holder of
 * the page-table lock can make the recorded flush itself
 * (flush_tlb_batched_pending()).
 *
 * Law 1.  Page-table lock held on entry and return.
 */
void unmap_run_clear(struct unmap_op *op)
{
	if (op->run.nr == 1)
		unmap_run_clear_one(op);
	else
		run_clear_many(op, false);
}

/**
 * unmap_run_clear_locked - clear the entries of a run that is relocated
 * @op: as for unmap_run_clear()
 *
 * Law 1.  The folio stays locked until the caller of try_to_migrate() has called
 * try_to_unmap_flush(), or until the entries are back: so written pages of files need no flush
 * of their own.  Page-table lock held on entry and return.
 */
void unmap_run_clear_locked(struct unmap_op *op)
{
	if (op->run.nr == 1)
		__unmap_run_clear_one(op, true);
	else
		run_clear_many(op, true);
}
