/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How Linux 6.12 and 7.3 differ: page descriptors, control groups, lists of the shrinker.  The
 * code is written for the newest kernel.
 */
#ifndef __MM_UNMAP_COMPAT_H
#define __MM_UNMAP_COMPAT_H

#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/shrinker.h>
#include <linux/unmap.h>

#include "arch.h"
#include "compat_entries.h"

/* PageAnonExclusive() without its check for hugetlb pages, which do not come in runs. */
static inline bool compat_anon_exclusive(const struct page *page)
{
#if UNMAP_ON_6_12
	return test_bit(PG_anon_exclusive, &page->flags);
#else
	return test_bit(PG_anon_exclusive, &page->flags.f);
#endif
}

/* The flags of a page table: an unsigned long in 6.12, in a struct in 7.3. */
static inline unsigned long *compat_table_flags(struct ptdesc *table)
{
#if UNMAP_ON_6_12
	return &table->__page_flags;
#else
	return &table->pt_flags.f;
#endif
}

/* What a folio is charged to (a memcg or an obj_cgroup), only to be compared. */
static inline unsigned long compat_charge(const struct folio *folio)
{
#ifdef CONFIG_MEMCG
	return READ_ONCE(folio->memcg_data);
#else
	return 0;
#endif
}

/* The memcg of an mm, only to be compared; NULL: none.  The RCU read lock is held. */
static inline const struct mem_cgroup *compat_memcg_of(struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return mem_cgroup_from_task(rcu_dereference(mm->owner));
#else
	return NULL;
#endif
}

/*
 * Make reclaim of @memcg and of its ancestors call the shrinker of @lru.  list_lru_add()
 * sets the shrinker bit of the memcg it is given only.  If that memcg has gone offline,
 * its parent has the list.
 */
static inline void compat_tell_shrinker(struct mem_cgroup *memcg, int nid,
					const struct list_lru *lru)
{
#ifdef CONFIG_MEMCG
	for (; memcg; memcg = parent_mem_cgroup(memcg))
		set_shrinker_bit(memcg, nid, lru->shrinker_id);
#endif
}

/*
 * How many pages may still be charged to an mm's memcg and its ancestors.  Like
 * mem_cgroup_margin(), which is static.
 */
static inline long compat_memcg_room(struct mm_struct *mm)
{
	long room = LONG_MAX;
#ifdef CONFIG_MEMCG
	struct mem_cgroup *own = get_mem_cgroup_from_mm(mm), *memcg;

	for (memcg = own; memcg; memcg = parent_mem_cgroup(memcg))
		room = min(room, (long)READ_ONCE(memcg->memory.max) -
				 (long)page_counter_read(&memcg->memory));
	mem_cgroup_put(own);
#endif
	return room;
}

/*
 * list_lru_shrink_walk().  In 7.3 each list of a list_lru has its own lock, and the callback
 * does not get it as an argument.
 */
#if UNMAP_ON_6_12
struct compat_lru_walk {
	enum lru_status (*isolate)(struct list_head *item,
				   struct list_lru_one *list, void *arg);
	void *arg;
};

static inline enum lru_status compat_lru_isolate(struct list_head *item,
						 struct list_lru_one *list,
						 spinlock_t *lock, void *arg)
{
	struct compat_lru_walk *walk = arg;

	return walk->isolate(item, list, walk->arg);
}

static inline unsigned long
compat_list_lru_shrink_walk(struct list_lru *lru, struct shrink_control *sc,
			    enum lru_status (*isolate)(struct list_head *item,
						       struct list_lru_one *list,
						       void *arg),
			    void *arg)
{
	struct compat_lru_walk walk = { .isolate = isolate, .arg = arg };

	return list_lru_shrink_walk(lru, sc, compat_lru_isolate, &walk);
}
#else
#define compat_list_lru_shrink_walk	list_lru_shrink_walk
#endif

#endif /* __MM_UNMAP_COMPAT_H */
