// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sweep of records that do not wait for the shrinker.
 *
 * Except with the policy "pressure", a task that has emptied tables of its own process frees
 * them itself (unmap_flush_and_sweep(), unmap_sweep_own()).  A worker frees the tables of
 * other processes, and those whose mmap lock the task could not get: the reclaiming task may
 * get little CPU time, and must not delay the processes whose memory it reclaims.
 *
 * The workqueue has no rescuer (WQ_MEM_RECLAIM), because no task waits for the worker.  It
 * is not freezable, because what the worker does is invisible to user space.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/workqueue.h>

#include "../internal.h"
#include "table.h"
#include "tables_kept.h"

/* The longest pause, in jiffies, between two attempts at a record that makes no progress. */
#define RETRY_MAX	HZ
/* As long as there are records, the worker runs again after this many jiffies. */
#define LOOK		max(HZ / 10, 1)

/*
 * Sweep a record.  Tables that are left are tried again later; each attempt that frees none
 * doubles the pause before the next one.
 */
static void worker_sweep_record(struct kept *record)
{
	unsigned int freed = 0;

	if (unmap_grace_has_room(record->mm))
		freed = unmap_kept_sweep(record, 0, TABLE_BY_WORKER);
	if (!places_left(&record->places)) {
		unmap_kept_drop(record);
		return;
	}
	if (freed)
		record->pause = WORKER_RETRY;
	record->due = jiffies + record->pause;
	record->pause = min(2 * record->pause, (unsigned int)RETRY_MAX);
	unmap_kept_put_back(record);
}

static void worker_run(struct work_struct *work);
static DECLARE_DELAYED_WORK(worker, worker_run);

/* How many records of one bucket are swept before the next bucket gets its turn. */
#define AT_ONCE		32

/*
 * Sweep all records that are due.  Returns the time, in jiffies, at which the next one may
 * be due; @next if there is none.
 */
static unsigned long worker_sweep_due(unsigned long next)
{
	struct kept *record;
	unsigned int i, nr;

	for (i = 0; i < KEPT_BUCKETS; i++) {
		for (nr = 0; nr < AT_ONCE; nr++) {
			record = unmap_kept_take_due(i, &next);
			if (!record)
				break;
			worker_sweep_record(record);
			next = jiffies;
			cond_resched();
		}
	}
	return next;
}

static void worker_run(struct work_struct *work)
{
	const unsigned long never = jiffies + MAX_JIFFY_OFFSET;

	/* Whatever the policy is now: records made before it changed may be left. */
	if (!unmap_tables_enabled())
		unmap_kept_forget_all();
	else if (worker_sweep_due(never) != never)
		queue_delayed_work(system_dfl_wq, &worker, LOOK);
}

/* After the policy or the switch has changed, there may be records that only we sweep. */
void unmap_worker_policy_changed(void)
{
	/*
	 * The caller's stores come before this test.  The worker ceases to be pending before
	 * it searches for records: if it is pending still, it will see them.
	 */
	smp_mb();
	if (!delayed_work_pending(&worker))
		queue_delayed_work(system_dfl_wq, &worker, WORKER_FIRST);
}

/*
 * Make sure that the worker runs: a record was added.  If the switch was turned off meanwhile, the
 * worker drops it.  Any lock may be held.
 */
void unmap_worker_wake(void)
{
	if (unmap_policy_eager() || !unmap_tables_enabled())
		unmap_worker_policy_changed();
}

/**
 * unmap_sweep_own - free the empty tables of this process that were recorded
 *
 * Frees the tables that unmap_kept_evicted() has recorded.  If the mmap lock cannot be taken
 * for reading, the worker frees them later, as it does tables of other processes, and what
 * this process emptied in another control group.  So it does if their group has no room for
 * tables that wait.  The caller may hold locks with which memory may be reclaimed, but no lock of
 * page tables.
 */
void unmap_sweep_own(void)
{
	struct kept *record;

	if (!unmap_tables_enabled() || !unmap_policy_eager() || !current->mm)
		return;
	record = unmap_kept_take_own(current->mm);
	if (!record)
		return;
	if (unmap_grace_has_room(current->mm))
		unmap_kept_sweep(record, 0, TABLE_BY_OWN);
	unmap_kept_put_back(record);
	/* The worker may have looked while the record was not in its bucket. */
	unmap_worker_wake();
}

/**
 * unmap_flush_and_sweep - flush what try_to_unmap() has deferred, then free empty tables
 *
 * Frees the tables of this process that try_to_unmap() has emptied.  Reclaim calls this in
 * place of try_to_unmap_flush(), with no folio lock and no rmap lock held.
 */
void unmap_flush_and_sweep(void)
{
	try_to_unmap_flush();
	unmap_sweep_own();
}
