// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy, and who gives back at once what was written down.
 *
 * But with the policy "pressure", a task that has emptied tables of its own process gives them
 * back itself (unmap_flush_and_sweep(), unmap_sweep_own()).  Those of others,
 * and those whose mmap lock it could not have, are a worker's: reclaim may be done by a
 * task that hardly runs, and that is not to hold up those whose memory it takes.
 *
 * Nobody waits for the worker, and so it needs no memory of its own to get on; nor does it
 * stop for suspend, as what it does cannot be told from outside.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "table.h"
#include "tables_kept.h"

/* A record whose mmap lock is never to be had is not tried for more often than that. */
#define RETRY_MAX	HZ
/* While there are records, the worker looks for new ones so often. */
#define LOOK		max(HZ / 10, 1)

enum tables_policy {
	TABLES_EAGER,		/* given back at once */
	TABLES_HUGE,		/* the same, and huge pages may come back (law 11) */
	TABLES_PRESSURE,	/* kept until memory is short */
	NR_TABLES_POLICIES,
};

static const char * const policy_names[NR_TABLES_POLICIES] = {
	[TABLES_EAGER]		= "eager",
	[TABLES_HUGE]		= "huge",
	[TABLES_PRESSURE]	= "pressure",
};

static enum tables_policy policy = TABLES_EAGER;

/* Whether empty tables are given back at once. */
bool unmap_policy_eager(void)
{
	return READ_ONCE(policy) != TABLES_PRESSURE;
}

/* Law 11: whether they leave a mark. */
bool unmap_policy_marks(void)
{
	return READ_ONCE(policy) != TABLES_HUGE;
}

/* What is left is tried for again, less and less often if it is all that there was. */
static void worker_sweep_record(struct kept *record)
{
	unsigned int freed = 0;

	if (unmap_grace_has_room(record->mm))
		freed = unmap_kept_sweep(record, 0);
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

/* Of one bucket, before the others get their turn. */
#define AT_ONCE		32

/* Those that are due, one after the other.  Returns when the next one is. */
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

	/* Also what was written down before the policy changed. */
	if (unmap_tables_enabled() && worker_sweep_due(never) != never)
		queue_delayed_work(system_unbound_wq, &worker, LOOK);
}

/* The policy or the switch has changed: records may wait that nobody else would sweep. */
void unmap_worker_policy_changed(void)
{
	/* The worker looks for records after it has ceased to be pending. */
	smp_mb();
	if (!delayed_work_pending(&worker))
		queue_delayed_work(system_unbound_wq, &worker, WORKER_FIRST);
}

/* A record was written down.  Any lock may be held. */
void unmap_worker_wake(void)
{
	if (unmap_policy_eager())
		unmap_worker_policy_changed();
}

/**
 * unmap_sweep_own - give back tables of this process that were found empty
 *
 * Those that unmap_kept_evicted() was told of.  Where the mmap lock cannot be had for
 * reading, and for those of others, the worker comes later.  Neither folios nor rmap are
 * locked.
 */
void unmap_sweep_own(void)
{
	struct kept *record;

	if (!unmap_tables_enabled() || !unmap_policy_eager() || !current->mm)
		return;
	while ((record = unmap_kept_take_own(current->mm))) {
		if (unmap_grace_has_room(current->mm))
			unmap_kept_sweep(record, 0);
		if (places_left(&record->places)) {
			unmap_kept_put_back(record);
			unmap_worker_wake();
			break;
		}
		unmap_kept_drop(record);
	}
}

/**
 * unmap_flush_and_sweep - flush what try_to_unmap() has deferred
 *
 * Then tables of this process which it left empty are given back.  For reclaim, in place
 * of try_to_unmap_flush(), where neither folios nor rmap are locked.
 */
void unmap_flush_and_sweep(void)
{
	try_to_unmap_flush();
	unmap_sweep_own();
}

/* All policies, the one in force in brackets.  Returns the length of the text. */
ssize_t unmap_policy_show(char *buf)
{
	ssize_t len = 0;
	int i;

	for (i = 0; i < NR_TABLES_POLICIES; i++)
		len += sysfs_emit_at(buf, len, i == READ_ONCE(policy) ?
				     "[%s] " : "%s ", policy_names[i]);
	len += sysfs_emit_at(buf, len - 1, "\n");
	return len - 1;
}

/* Returns -EINVAL unless the text is the name of a policy. */
int unmap_policy_store(const char *text)
{
	int i = sysfs_match_string(policy_names, text);

	if (i < 0)
		return -EINVAL;
	WRITE_ONCE(policy, i);
	unmap_worker_policy_changed();
	return 0;
}
