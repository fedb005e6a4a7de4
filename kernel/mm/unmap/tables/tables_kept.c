// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of empty page tables that are not freed at once: the policy keeps them until
 * memory is short; or reclaim emptied them, and its TLB flush is still to come; or the task
 * that emptied them could not get the mmap lock, or may not try for it (unmap_may_lock()); or
 * too many tables of the control group wait for their grace period.
 *
 * A record says where an mm has such tables, not which tables they are: code that fills a
 * table again does not update the record, so the tables are examined when the record is
 * swept.  An mm has one record for each control group that it belonged to while it emptied
 * tables: the tables were most likely charged to that group, whose reclaim must find them.
 *
 * With the policies that free at once, a record is swept by the task that emptied tables of
 * its own process, at once, or soon by a worker (both in tables_worker.c).  With
 * "pressure", a record is in the shrinker's lists, too, and reclaim sweeps it
 * (tables_shrink.c).
 *
 * A record leaves its bucket when it is taken for a sweep or when the mm loses its last
 * user (unmap_kept_exit()), so that the mm of a record found under the bucket's lock
 * exists.  Who takes a record keeps the mm from being freed, but its last user may go.  A
 * task that has swept its own record puts it back empty, since it is likely to need one again
 * soon; the worker frees it.  The bucket's lock nests inside all other locks except the lock
 * of the shrinker's list, which nests inside the bucket's lock.
 */
#include <linux/hash.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include "../internal.h"
#include "../stat.h"
#include "table.h"
#include "tables_kept.h"

struct bucket {
	spinlock_t lock;	/* protects the list and all records in it */
	struct hlist_head records;
};

static struct bucket buckets[KEPT_BUCKETS] = {
	[0 ... KEPT_BUCKETS - 1] = {
		.lock = __SPIN_LOCK_UNLOCKED(buckets.lock),
	},
};

/* fork() must not inherit the flag: a child begins without records. */
static_assert(!(UNMAP_MMF_INHERITED & BIT(MMF_UNMAP_KEPT)));

static struct bucket *kept_bucket_of(const struct mm_struct *mm)
{
	return &buckets[hash_ptr(mm, KEPT_BUCKET_BITS)];
}

static struct kept *kept_find(struct bucket *bucket, const struct mm_struct *mm,
			      const struct compat_group *group)
{
	struct kept *record;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node)
		if (record->mm == mm && record->group == group)
			return record;
	return NULL;
}

static void kept_free(struct kept *record)
{
	compat_group_put(record->group);
	kfree(record);
}

/*
 * Put a record into the shrinker's list if the policy keeps it until memory is short.  A
 * record that the worker sweeps soon is not listed.  A record that is older than a change of
 * the policy is listed when it is next updated.  Returns false if the list could not be
 * allocated.
 */
static bool kept_list_by_policy(struct kept *record)
{
	return unmap_policy_eager() || !list_empty(&record->lru) || unmap_kept_list(record);
}

/* The first place is about to be added. */
static void kept_restart(struct kept *record)
{
	record->pause = WORKER_RETRY;
	record->due = jiffies + WORKER_FIRST;
}

/* The new record takes over the caller's reference to @group.  Bucket's lock held. */
static struct kept *kept_alloc(struct bucket *bucket, struct mm_struct *mm,
			       struct compat_group *group)
{
	struct kept *record;

	/*
	 * Page-table locks may be held.  Charged to the task's group, even at its limit
	 * (__GFP_HIGH, which may use a part of the page allocator's reserve): it is to get
	 * back more.
	 */
	record = kmalloc(sizeof(*record), GFP_NOWAIT | __GFP_HIGH | __GFP_ACCOUNT |
					  __GFP_NOWARN | __GFP_NOMEMALLOC);
	if (!record)
		return NULL;
	record->mm = mm;
	record->group = group;
	record->nid = numa_mem_id();
	unmap_places_clear(&record->places);
	INIT_LIST_HEAD(&record->lru);
	if (!kept_list_by_policy(record)) {
		kfree(record);
		return NULL;
	}
	hlist_add_head(&record->node, &bucket->records);
	return record;
}

/* Take a record out of its bucket and the shrinker's list; the caller owns it then. */
static void kept_remove(struct bucket *bucket, struct kept *record)
{
	lockdep_assert_held(&bucket->lock);
	hlist_del(&record->node);
	if (!list_empty(&record->lru))
		unmap_kept_unlist(record);
}

/*
 * The caller owns the record, and keeps the mm from being freed, but not its last user from going:
 * as long as the record is in its bucket, the mm exists.
 */
static void kept_take(struct bucket *bucket, struct kept *record)
{
	mmgrab(record->mm);
	kept_remove(bucket, record);
}

/* Add @nr empty tables between @start and @end.  If @nr is 1, @start is in that table. */
void unmap_places_add(struct places *p, unsigned long start, unsigned long end,
		      unsigned int nr)
{
	if (!places_left(p))
		p->since = jiffies;
	if (p->nr + nr > p->nr)
		p->nr += nr;
	if (nr == 1 && p->nr_places < PLACES) {
		p->place[p->nr_places++] = start;
		return;
	}
	/* A walk from the middle of a table could miss a VMA that lies before it. */
	start &= PMD_MASK;
	p->start = p->end ? min(p->start, start) : start;
	p->end = max(p->end, end);
}

/* Add all places of @from to @to, which is as old as the older of both then. */
void unmap_places_copy(struct places *to, const struct places *from)
{
	unsigned long since = to->since;
	unsigned int i;

	if (!places_left(to) || (places_left(from) && time_before(from->since, since)))
		since = from->since;
	for (i = 0; i < from->nr_places; i++)
		unmap_places_add(to, from->place[i],
				 (from->place[i] & PMD_MASK) + PMD_SIZE, 1);
	/* If there is a range, at least two tables were seen besides the single ones. */
	if (from->end)
		unmap_places_add(to, from->start, from->end,
				 max(from->nr, from->nr_places + 2) - from->nr_places);
	to->since = since;
}

/*
 * Whether the mm may get a record: the switch is on, and it has users.  One without has lost its
 * records, or is about to.  The flag comes before the test here; in unmap_kept_exit() it is read
 * after the last user has gone: so that either sees the other.  So it is with the switch and
 * unmap_kept_forget_all(), under the bucket's lock, which is held.
 */
static bool kept_may_begin(struct mm_struct *mm)
{
	if (!unmap_tables_enabled())
		return false;
	mm_flags_set(MMF_UNMAP_KEPT, mm);
	smp_mb();	/* as that of the last mmput(), which comes before unmap_kept_exit() */
	return atomic_read(&mm->mm_users);
}

/*
 * If there is no memory for a record, the tables are forgotten, and stay until their VMAs
 * are unmapped.  Returns true if a new record was made, which then owns the caller's
 * reference to @group.
 */
static bool kept_add_places(struct mm_struct *mm, struct compat_group *group,
			    unsigned long start, unsigned long end, unsigned int nr)
{
	struct bucket *bucket = kept_bucket_of(mm);
	struct kept *record;
	bool new = false;

	spin_lock(&bucket->lock);
	record = kept_find(bucket, mm, group);
	if (!record && kept_may_begin(mm)) {
		record = kept_alloc(bucket, mm, group);
		new = record;
	}
	if (record) {
		if (!places_left(&record->places))
			kept_restart(record);
		kept_list_by_policy(record);
		unmap_places_add(&record->places, start, end, nr);
		unmap_count(UNMAP_STAT_TABLES_KEPT, nr);
	}
	spin_unlock(&bucket->lock);
	return new;
}

/**
 * unmap_kept_add - record where empty tables are, to free them later
 * @mm: the mm of the tables
 * @start: an address that the first table translates
 * @end: the end of the range that the last table translates
 * @nr: how many empty tables the range has; if 1, the range is that table alone
 *
 * They are freed when memory is short or soon, as the policy says.  Any lock may be held.
 */
void unmap_kept_add(struct mm_struct *mm, unsigned long start,
		    unsigned long end, unsigned int nr)
{
	struct compat_group *group = compat_group_get(mm);

	if (!kept_add_places(mm, group, start, end, nr))
		compat_group_put(group);
	unmap_worker_wake();
}

/**
 * unmap_kept_evicted - record a table that reclaim or MADV_FREE has emptied
 * @mm: the mm of the table
 * @addr: an address that the table translates
 *
 * The table can be freed after reclaim's deferred flush: see unmap_flush_and_sweep().
 * Page-table lock held on entry and return.
 */
void unmap_kept_evicted(struct mm_struct *mm, unsigned long addr)
{
	unmap_kept_add(mm, addr, (addr & PMD_MASK) + PMD_SIZE, 1);
}

/**
 * unmap_kept_swap_freed - MADV_FREE has cleared swap entries in a table
 * @mm: the mm of the table
 * @pte: an entry of the table; null if the table was freed meanwhile
 * @addr: an address that the table translates
 *
 * Called by stock's MADV_FREE, which clears swap entries itself.  If the table is empty now
 * it is recorded, and freed with the others at the end of MADV_FREE: unmap_sweep_own().
 * Page-table lock held on entry and return, if @pte is not null.
 */
void unmap_kept_swap_freed(struct mm_struct *mm, pte_t *pte, unsigned long addr)
{
	if (pte && unmap_tables_enabled() &&
	    unmap_table_may_be_empty(mm, unmap_table_of(pte)))
		unmap_kept_evicted(mm, addr);
}

/* Free the records of @mm; null: of all mms. */
static void kept_forget(struct bucket *bucket, const struct mm_struct *mm)
{
	struct hlist_node *next;
	struct kept *record;

	spin_lock(&bucket->lock);
	hlist_for_each_entry_safe(record, next, &bucket->records, node) {
		if (mm && record->mm != mm)
			continue;
		kept_remove(bucket, record);
		kept_free(record);
	}
	spin_unlock(&bucket->lock);
}

/**
 * __unmap_kept_exit - drop all records of an mm that has lost its last user
 * @mm: about to be torn down; mm_users is zero
 *
 * A concurrent kept_add_places() either added its record before this, or finds under the
 * bucket's lock that the mm has no users, and adds none.
 */
void __unmap_kept_exit(struct mm_struct *mm)
{
	kept_forget(kept_bucket_of(mm), mm);
}

/* The switch is off: drop all records, which would pin control groups.  Their tables stay. */
void unmap_kept_forget_all(void)
{
	unsigned int i;

	for (i = 0; i < KEPT_BUCKETS; i++) {
		kept_forget(&buckets[i], NULL);
		cond_resched();
	}
}

/*
 * Take a record of @mm, which is current->mm, with places; null if there is none.
 * Records whose range takes long to walk are left to the worker.
 */
struct kept *unmap_kept_take_own(struct mm_struct *mm)
{
	struct bucket *bucket = kept_bucket_of(mm);
	struct kept *record;

	/* A task that has just emptied a table sees the record it added without the lock. */
	if (!mm_flags_test(MMF_UNMAP_KEPT, mm) || hlist_empty(&bucket->records))
		return NULL;
	spin_lock(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node)
		if (record->mm == mm && places_left(&record->places) &&
		    !places_are_sparse(&record->places))
			break;
	if (record)
		kept_take(bucket, record);
	spin_unlock(&bucket->lock);
	return record;
}

static unsigned long kept_due(const struct kept *record)
{
	return record->due + (places_are_sparse(&record->places) ? HZ : 0);
}

/*
 * Take a record of bucket @i that the worker should sweep now; null if there is none.  Records
 * that are empty by then are freed.
 * @next is moved to the time, in jiffies, at which the first of the records passed over is
 * due, if that is earlier.
 */
struct kept *unmap_kept_take_due(unsigned int i, unsigned long *next)
{
	struct bucket *bucket = &buckets[i];
	bool eager = unmap_policy_eager();
	struct hlist_node *other;
	struct kept *record;

	if (hlist_empty(&bucket->records))
		return NULL;
	spin_lock(&bucket->lock);
	hlist_for_each_entry_safe(record, other, &bucket->records, node) {
		/* Listed records are left to the shrinker. */
		if (!eager && !list_empty(&record->lru))
			continue;
		if (time_is_after_jiffies(kept_due(record))) {
			if (time_before(kept_due(record), *next))
				*next = kept_due(record);
		} else if (!places_left(&record->places)) {
			kept_remove(bucket, record);
			kept_free(record);
		} else {
			kept_take(bucket, record);
			break;
		}
	}
	spin_unlock(&bucket->lock);
	return record;
}

/**
 * unmap_kept_try_take - the shrinker takes a record out of its bucket
 * @record: in the shrinker's list; the list's lock is held
 * @age: leave the record if its first place was added less than this many ticks ago: none of its
 *	tables has been empty for much longer.  The sweep looks at the age of each table.
 *
 * On success the caller removes the record from the list, too.
 *
 * Return: false if the record is too young, or if the bucket is locked.
 */
bool unmap_kept_try_take(struct kept *record, unsigned long age)
{
	struct bucket *bucket = kept_bucket_of(record->mm);
	bool taken;

	/* The lock order is bucket, then list; the list is locked already, so only try. */
	if (!spin_trylock(&bucket->lock))
		return false;
	taken = time_after_eq(jiffies, record->places.since + age);
	if (taken) {
		mmgrab(record->mm);
		hlist_del(&record->node);
	}
	spin_unlock(&bucket->lock);
	return taken;
}

/*
 * Give up a record that was taken.  Places that are left are merged into the mm's
 * current record, or the record goes back to its bucket, unless the mm has lost its last user, or
 * the switch is off.  The caller no longer owns it, nor the reference to the mm.
 */
void unmap_kept_put_back(struct kept *record)
{
	struct bucket *bucket = kept_bucket_of(record->mm);
	struct mm_struct *mm = record->mm;
	struct kept *other;
	bool kept = false;

	spin_lock(&bucket->lock);
	other = kept_find(bucket, mm, record->group);
	if (other && places_left(&record->places)) {
		unmap_places_copy(&other->places, &record->places);
		other->due = record->due;
		other->pause = record->pause;
	} else if (!other && kept_may_begin(mm) && kept_list_by_policy(record)) {
		hlist_add_head(&record->node, &bucket->records);
		kept = true;
	}
	spin_unlock(&bucket->lock);
	if (!kept)
		kept_free(record);
	mmdrop(mm);
}

/* Free a record that was taken and has no places left, and drop the reference to the mm. */
void unmap_kept_drop(struct kept *record)
{
	mmdrop(record->mm);
	kept_free(record);
}
