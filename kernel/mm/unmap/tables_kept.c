// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty page tables that are not given back at once: by policy, until memory is
 * short; or because reclaim, which emptied them, has deferred its TLB flush; or
 * because the mmap lock was not to be had.
 *
 * A record says where an mm has such tables, not which they are: nobody tells us when
 * one is filled again, so they are looked at when the record is swept.  There is one
 * for each control group that the mm belonged to when it emptied tables: they were most
 * likely charged to that one, whose reclaim is to find them.
 *
 * Who sweeps: whoever has emptied tables of its own, at once (tables_worker.c); a worker
 * (the same), soon, if the policy is to give back at once; reclaim otherwise
 * (tables_shrink.c).  What is kept by policy is in the shrinker's lists, too.
 *
 * A record goes when it is taken for a sweep, or with the mm's last user
 * (unmap_kept_exit()), so that one found under its bucket's lock has an mm.  A bucket's
 * lock nests in all others, but for that of the shrinker's list, which nests in it.
 */
#include <linux/hash.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include "internal.h"
#include "table.h"
#include "tables_kept.h"

struct bucket {
	spinlock_t lock;	/* for the list, and all records in it */
	struct hlist_head records;
};

static struct bucket buckets[KEPT_BUCKETS] = {
	[0 ... KEPT_BUCKETS - 1] = {
		.lock = __SPIN_LOCK_UNLOCKED(buckets.lock),
	},
};

static struct bucket *kept_bucket_of(const struct mm_struct *mm)
{
	return &buckets[hash_ptr(mm, KEPT_BUCKET_BITS)];
}

static struct kept *kept_find(struct bucket *bucket, const struct mm_struct *mm,
			      const struct mem_cgroup *memcg)
{
	struct kept *record;

	lockdep_assert_held(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node)
		if (record->mm == mm && record->memcg == memcg)
			return record;
	return NULL;
}

static void kept_free(struct kept *record)
{
	mem_cgroup_put(record->memcg);
	kfree(record);
}

/*
 * The shrinker has the records that stay until memory is short; a record that the worker
 * sweeps soon is in no list.  A record from before the policy changed is listed when it is
 * next touched.  False without memory for the list.
 */
static bool kept_list_by_policy(struct kept *record)
{
	return unmap_policy_eager() || !list_empty(&record->lru) || unmap_kept_list(record);
}

/* With the caller's reference to the group. */
static struct kept *kept_alloc(struct bucket *bucket, struct mm_struct *mm,
			       struct mem_cgroup *memcg)
{
	struct kept *record;

	/* Page-table locks may be held, and reclaim's reserves are not for us. */
	record = kmalloc(sizeof(*record), GFP_NOWAIT | __GFP_NOWARN |
					  __GFP_NOMEMALLOC);
	if (!record)
		return NULL;
	record->mm = mm;
	record->memcg = memcg;
	record->nid = numa_mem_id();
	record->pause = WORKER_RETRY;
	record->due = jiffies + WORKER_FIRST;
	unmap_places_clear(&record->places);
	INIT_LIST_HEAD(&record->lru);
	if (!kept_list_by_policy(record)) {
		kfree(record);
		return NULL;
	}
	hlist_add_head(&record->node, &bucket->records);
	return record;
}

/* Out of its bucket and of the shrinker's list: it is the caller's now. */
static void kept_remove(struct bucket *bucket, struct kept *record)
{
	lockdep_assert_held(&bucket->lock);
	hlist_del(&record->node);
	if (!list_empty(&record->lru))
		unmap_kept_unlist(record);
}

/* Some more places of empty tables: from @start to @end; one: it is that table alone. */
void unmap_places_add(struct places *p, unsigned long start, unsigned long end,
		      unsigned int nr)
{
	if (p->nr + nr > p->nr)
		p->nr += nr;
	p->since = jiffies;
	if (nr == 1 && p->nr_places < PLACES) {
		p->place[p->nr_places++] = start;
		return;
	}
	/* A walk that began in the middle of a table could miss the VMA before. */
	start &= PMD_MASK;
	p->start = p->end ? min(p->start, start) : start;
	p->end = max(p->end, end);
}

/* All of @from's are @to's, too. */
void unmap_places_copy(struct places *to, const struct places *from)
{
	unsigned int i;

	for (i = 0; i < from->nr_places; i++)
		unmap_places_add(to, from->place[i],
				 (from->place[i] & PMD_MASK) + PMD_SIZE, 1);
	/* Where there is a range, at least two were seen beside the single ones. */
	if (from->end)
		unmap_places_add(to, from->start, from->end,
				 max(from->nr, from->nr_places + 2) - from->nr_places);
}

/*
 * Without memory for it they are forgotten, and stay until their VMAs go.  True if there
 * is a new record, and the reference to the group is its.
 */
static bool kept_add_places(struct mm_struct *mm, struct mem_cgroup *memcg,
			    unsigned long start, unsigned long end, unsigned int nr)
{
	struct bucket *bucket = kept_bucket_of(mm);
	struct kept *record;
	bool new = false;

	spin_lock(&bucket->lock);
	record = kept_find(bucket, mm, memcg);
	/* Without users it has lost its records, or is about to. */
	if (!record && atomic_read(&mm->mm_users)) {
		record = kept_alloc(bucket, mm, memcg);
		new = record;
	}
	if (record) {
		kept_list_by_policy(record);
		unmap_places_add(&record->places, start, end, nr);
		unmap_count(UNMAP_STAT_TABLES_KEPT, nr);
	}
	spin_unlock(&bucket->lock);
	return new;
}

/**
 * unmap_kept_add - remember where empty tables are, to give them back later
 * @mm: theirs
 * @start: an address that the first translates
 * @end: the end of what the last one translates
 * @nr: how many there are between; one: it is that table alone
 *
 * By policy when memory is short, or else soon.  Any lock may be held.
 */
void unmap_kept_add(struct mm_struct *mm, unsigned long start,
		    unsigned long end, unsigned int nr)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(mm);

	if (!kept_add_places(mm, memcg, start, end, nr))
		mem_cgroup_put(memcg);
	unmap_worker_wake();
}

/**
 * unmap_kept_evicted - reclaim, or MADV_FREE, has emptied a table
 * @mm: its mm
 * @addr: an address it translates
 *
 * It can go after reclaim's deferred flush: see unmap_flush_and_sweep().  Page-table lock
 * held on entry and return.
 */
void unmap_kept_evicted(struct mm_struct *mm, unsigned long addr)
{
	unmap_kept_add(mm, addr, (addr & PMD_MASK) + PMD_SIZE, 1);
}

/**
 * unmap_kept_swap_freed - swap entries were freed with their memory
 * @mm: theirs
 * @pte: in their table; null: that has gone meanwhile
 * @addr: an address it translates
 *
 * For MADV_FREE, which clears them itself: the table can go with all others at its end,
 * see unmap_sweep_own().  Page-table lock held on entry and return, if there
 * is a table.
 */
void unmap_kept_swap_freed(struct mm_struct *mm, pte_t *pte, unsigned long addr)
{
	if (pte && unmap_tables_enabled() && unmap_table_emptied(unmap_table_of(pte)))
		unmap_kept_evicted(mm, addr);
}

/**
 * unmap_kept_exit - nobody uses an mm any more
 * @mm: about to be torn down; it has no users
 */
void unmap_kept_exit(struct mm_struct *mm)
{
	struct bucket *bucket = kept_bucket_of(mm);
	struct hlist_node *next;
	struct kept *record;

	/* Who adds one meanwhile has seen a user, or sees none under the lock. */
	spin_lock(&bucket->lock);
	hlist_for_each_entry_safe(record, next, &bucket->records, node) {
		if (record->mm != mm)
			continue;
		kept_remove(bucket, record);
		kept_free(record);
	}
	spin_unlock(&bucket->lock);
}

/*
 * A record of current->mm, or null.  A kernel thread that borrows the mm
 * (kthread_use_mm()) need not hold a user of it: the last one may be in __mmput() by now.
 * Ranges that take long to walk are left to the worker.
 */
struct kept *unmap_kept_take_own(struct mm_struct *mm)
{
	struct bucket *bucket = kept_bucket_of(mm);
	struct kept *record;

	/* A task that has just emptied a table sees its own record without the lock. */
	if (hlist_empty(&bucket->records))
		return NULL;
	spin_lock(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node)
		if (record->mm == mm && !places_are_sparse(&record->places))
			break;
	if (record && mmget_not_zero(mm))
		kept_remove(bucket, record);
	else
		record = NULL;
	spin_unlock(&bucket->lock);
	return record;
}

static unsigned long kept_due(const struct kept *record)
{
	return record->due + (places_are_sparse(&record->places) ? HZ : 0);
}

/*
 * One of a bucket's records that the worker is to sweep now, or null.  @next becomes
 * earlier if one of those passed over is due before.
 */
struct kept *unmap_kept_take_due(unsigned int i, unsigned long *next)
{
	struct bucket *bucket = &buckets[i];
	bool eager = unmap_policy_eager();
	struct kept *record;

	if (hlist_empty(&bucket->records))
		return NULL;
	spin_lock(&bucket->lock);
	hlist_for_each_entry(record, &bucket->records, node) {
		/* The shrinker's. */
		if (!eager && !list_empty(&record->lru))
			continue;
		if (time_is_after_jiffies(kept_due(record))) {
			if (time_before(kept_due(record), *next))
				*next = kept_due(record);
		} else if (mmget_not_zero(record->mm)) {
			kept_remove(bucket, record);
			break;
		}
	}
	spin_unlock(&bucket->lock);
	return record;
}

static bool kept_is_old(const struct places *p)
{
	return time_after_eq(jiffies, p->since + KEEP_AGE);
}

/**
 * unmap_kept_try_take - take a record out of its bucket, for the shrinker
 * @record: in the shrinker's list, whose lock is held; the caller takes it out of that
 *
 * Return: false if it has changed of late, its mm has no users, or the bucket is locked.
 */
bool unmap_kept_try_take(struct kept *record)
{
	struct bucket *bucket = kept_bucket_of(record->mm);
	bool taken;

	/* The other way round is the order of these locks. */
	if (!spin_trylock(&bucket->lock))
		return false;
	taken = kept_is_old(&record->places) && mmget_not_zero(record->mm);
	if (taken)
		hlist_del(&record->node);
	spin_unlock(&bucket->lock);
	return taken;
}

/* What is left of a record that was taken is for another time.  It is gone on return. */
void unmap_kept_put_back(struct kept *record)
{
	struct bucket *bucket = kept_bucket_of(record->mm);
	struct mm_struct *mm = record->mm;
	struct kept *other;
	bool kept = false;

	spin_lock(&bucket->lock);
	other = kept_find(bucket, mm, record->memcg);
	if (other) {
		unmap_places_copy(&other->places, &record->places);
		other->due = record->due;
		other->pause = record->pause;
	} else if (kept_list_by_policy(record)) {
		hlist_add_head(&record->node, &bucket->records);
		kept = true;
	}
	spin_unlock(&bucket->lock);
	if (!kept)
		kept_free(record);
	mmput_async(mm);
}

/* Nothing is left of a record that was taken. */
void unmap_kept_drop(struct kept *record)
{
	mmput_async(record->mm);
	kept_free(record);
}
