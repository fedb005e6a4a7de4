// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shrinker frees kept page tables when memory is short: tables of all processes, or
 * those of a control group that is at its limit.
 *
 * A record is in the list (list_lru) of the group that the mm belonged to when it emptied
 * the tables.  Reclaim of that group finds the record wherever the process is now; after the
 * group was removed, reclaim of its parent finds it.  The shrinker counts records without
 * visiting them.
 *
 * Page tables are charged as kernel memory.  If kernel memory is not charged
 * (cgroup.memory=nokmem), reclaim of a group does not call this shrinker.
 */
#include <linux/init.h>
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/shrinker.h>
#include <linux/swap.h>

#include "../internal.h"
#include "table.h"
#include "tables_kept.h"

/* So many unhooked tables that reclaim waits for them as a rule: see also reclaim.c. */
#define MANY	64

static struct list_lru lists;

/*
 * Page-table locks may be held.  Returns false if there is no memory for the group's list,
 * or if the lists are not initialised yet during boot.
 */
bool unmap_kept_list(struct kept *record)
{
	if (unlikely(!lists.node))
		return false;
	return compat_list_add(&lists, &record->lru, record->nid, record->group,
			       GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC);
}

void unmap_kept_unlist(struct kept *record)
{
	compat_list_del(&lists, &record->lru, record->nid, record->group);
}

/*
 * With seeks == 0 reclaim asks to scan half of this count, rounded down, so a single record
 * is counted as two.
 */
static unsigned long shrink_count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long nr = list_lru_shrink_count(&lists, sc);

	if (!nr)
		return SHRINK_EMPTY;
	return unmap_tables_enabled() ? nr + (nr == 1) : 0;
}

/* The next record of a list, and how long its tables must have been empty, in ticks. */
struct shrink_next {
	struct kept *record;
	unsigned long age;
};

/* @arg: a struct shrink_next. */
static enum lru_status shrink_isolate(struct list_head *item, struct list_lru_one *list,
				      void *arg)
{
	struct kept *record = container_of(item, struct kept, lru);
	struct shrink_next *next = arg;

	if (!unmap_kept_try_take(record, next->age))
		return LRU_ROTATE;
	list_lru_isolate(list, item);
	next->record = record;
	return LRU_REMOVED;
}

/*
 * Sweeps one record entirely: the walk costs as much for one of its tables as for all.  Returns
 * how many tables were freed.  The mm is no longer referenced afterwards, so the process can exit
 * while our caller waits.
 */
static unsigned int shrink_one(struct shrink_control *sc, unsigned long age)
{
	struct shrink_next next = { .age = age };
	unsigned int freed;

	sc->nr_to_scan = 1;
	sc->nr_scanned = 1;
	compat_list_lru_shrink_walk(&lists, sc, shrink_isolate, &next);
	if (!next.record)
		return 0;
	freed = unmap_kept_sweep(next.record, age, TABLE_BY_SHRINKER);
	if (places_left(&next.record->places))
		unmap_kept_put_back(next.record);
	else
		unmap_kept_drop(next.record);
	unmap_worker_wake();
	mm_account_reclaimed_pages(freed);
	return freed;
}

static unsigned long shrink_scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned int freed = shrink_one(sc, KEEP_AGE);

	/* Without __GFP_FS, others may need what the caller has locked. */
	if (freed && sc->gfp_mask & __GFP_FS)
		unmap_grace_await_room(MANY);
	return freed;
}

/*
 * Whether the group has lists of its own: not if kernel memory is not charged, nor once it was
 * removed.  Otherwise it would be those of another.
 */
static bool shrink_has_lists(struct mem_cgroup *memcg)
{
	return !memcg || mem_cgroup_is_root(memcg) ||
	       (memcg_kmem_online() && mem_cgroup_online(memcg));
}

/**
 * unmap_kept_shrink_all - free all kept tables of a group that are empty, however young they are
 * @nid: the memory node that is reclaimed
 * @memcg: the group that is reclaimed; null: none
 *
 * Locks as in unmap_shrink_slab().  A record that somebody else holds is left.
 */
void unmap_kept_shrink_all(int nid, struct mem_cgroup *memcg)
{
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nid = nid, .memcg = memcg };
	unsigned long left;

	if (unlikely(!lists.node) || !shrink_has_lists(memcg))
		return;
	for (left = list_lru_shrink_count(&lists, &sc); left; left--) {
		shrink_one(&sc, 0);
		cond_resched();
	}
}

static int __init unmap_shrinker_init(void)
{
	struct shrinker *shrinker;
	int err;

	shrinker = shrinker_alloc(SHRINKER_MEMCG_AWARE | SHRINKER_NUMA_AWARE,
				  "unmap-tables");
	if (!shrinker)
		return -ENOMEM;
	err = list_lru_init_memcg(&lists, shrinker);
	if (err) {
		shrinker_free(shrinker);
		return err;
	}
	shrinker->count_objects = shrink_count;
	shrinker->scan_objects = shrink_scan;
	/* To allocate a table again takes no I/O. */
	shrinker->seeks = 0;
	shrinker->batch = 1;
	shrinker_register(shrinker);
	return 0;
}
core_initcall(unmap_shrinker_init);
