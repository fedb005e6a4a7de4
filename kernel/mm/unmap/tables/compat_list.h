/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How kernels differ in the lists (list_lru) of page tables that wait: each is in the list of the
 * control group that it is charged to, and of its memory node.
 */
#ifndef __MM_UNMAP_COMPAT_LIST_H
#define __MM_UNMAP_COMPAT_LIST_H

#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/unmap_compat.h>
#include <linux/xarray.h>

static inline int compat_table_nid(struct ptdesc *table)
{
	return page_to_nid(ptdesc_page(table));
}

/*
 * Make the list of a memcg, if it has none, and those of the memcgs above it.  One at a time,
 * from the top: if there is no memory for one of several, memcg_list_lru_alloc() of 6.12 may
 * leave an ancestor without, to which the list is handed later; since 6.18 it tries again until
 * there is memory, and a lock is held here.  For a dying memcg it makes none: its next ancestor
 * that lives has the list.
 *
 * The RCU read lock is held.  Returns false if there is no memory.
 */
static inline bool compat_list_make(struct list_lru *lru, struct mem_cgroup *memcg, gfp_t gfp)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *pos, *top;

	if (!lru->memcg_aware)
		return true;
	do {
		top = NULL;
		for (pos = memcg; pos && !mem_cgroup_is_root(pos); pos = parent_mem_cgroup(pos))
			if (!xa_load(&lru->xa, memcg_kmem_id(pos)))
				top = pos;
		if (top && memcg_list_lru_alloc(top, lru, gfp))
			return false;
	} while (top && xa_load(&lru->xa, memcg_kmem_id(top)));
#endif
	return true;
}

#ifndef CONFIG_UNMAP_STOCK_LIST_LOCKS
/*
 * 6.12: one lock for all lists of a node.  When a memcg is removed, it gets the id of its parent,
 * so that it still leads to the list that has its tables.  But if it has gone offline, its parent
 * has the list, and list_lru_add() sets the shrinker bit of the memcg that it is given: reclaim of
 * those above must call the shrinker, too.
 */
static inline bool compat_list_add(struct list_lru *lru, struct ptdesc *table, gfp_t gfp)
{
	int nid = compat_table_nid(table);
	struct mem_cgroup *memcg;
	bool added = false;

	rcu_read_lock();
	memcg = folio_memcg(ptdesc_folio(table));
	if (compat_list_make(lru, memcg, gfp))
		added = list_lru_add(lru, &table->pt_list, nid, memcg);
#ifdef CONFIG_MEMCG
	for (; added && memcg; memcg = parent_mem_cgroup(memcg))
		set_shrinker_bit(memcg, nid, lru->shrinker_id);
#endif
	rcu_read_unlock();
	return added;
}

static inline void compat_list_del(struct list_lru *lru, struct ptdesc *table)
{
	rcu_read_lock();
	list_lru_del(lru, &table->pt_list, compat_table_nid(table),
		     folio_memcg(ptdesc_folio(table)));
	rcu_read_unlock();
}

/* list_lru_walk_one(), whose callback does not get the lock here. */
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

static inline void
compat_list_walk(struct list_lru *lru, int nid, struct mem_cgroup *memcg,
		 enum lru_status (*isolate)(struct list_head *item,
					    struct list_lru_one *list, void *arg),
		 void *arg, unsigned long *nr)
{
	struct compat_lru_walk walk = { .isolate = isolate, .arg = arg };

	list_lru_walk_one(lru, nid, memcg, compat_lru_isolate, &walk, nr);
}
#else
/*
 * Newer ones: a removed memcg keeps its id, which the next one that is made gets, too: then the id
 * leads to a list of that one.  The obj_cgroup that the table is charged to is handed to the parent
 * after the lists are and before the id is free.
 */
static inline struct mem_cgroup *compat_table_memcg(struct ptdesc *table)
{
#ifdef CONFIG_MEMCG
	struct obj_cgroup *group;

	group = (struct obj_cgroup *)(table->pt_memcg_data & ~OBJEXTS_FLAGS_MASK);
	return group ? obj_cgroup_memcg(group) : NULL;
#else
	return NULL;
#endif
}

#ifndef CONFIG_UNMAP_STOCK_LIST_LRU_LOCK
/*
 * Lock the list of a memcg, or of its next ancestor that has one: newer kernels say which.  Here
 * the memcg stays as it is given: shrinker bits are set in all groups above it.
 */
static inline struct list_lru_one *list_lru_lock(struct list_lru *lru, int nid,
						 struct mem_cgroup **memcg)
{
	return lock_list_lru_of_memcg(lru, nid, *memcg, false, false);
}

static inline void list_lru_unlock(struct list_lru_one *list)
{
	spin_unlock(&list->lock);
}

static inline bool __list_lru_add(struct list_lru *lru, struct list_lru_one *list,
				  struct list_head *item, int nid, struct mem_cgroup *memcg)
{
	if (!list_empty(item))
		return false;
	list_add_tail(item, &list->list);
	atomic_long_inc(&lru->node[nid].nr_items);
	if (list->nr_items++)
		return true;
#ifdef CONFIG_MEMCG
	for (; memcg; memcg = parent_mem_cgroup(memcg))
		set_shrinker_bit(memcg, nid, lru->shrinker_id);
#endif
	return true;
}

static inline bool __list_lru_del(struct list_lru *lru, struct list_lru_one *list,
				  struct list_head *item, int nid)
{
	if (list_empty(item))
		return false;
	list_del_init(item);
	list->nr_items--;
	atomic_long_dec(&lru->node[nid].nr_items);
	return true;
}
#endif

/*
 * Lock the list of @table; @memcg is set to the owner of the list.  The RCU read lock is held: it
 * keeps the memcg from being freed, but not its id from being used again.  If the table was handed
 * to the parent before the list was locked, the list may be that of a new memcg.
 */
static inline struct list_lru_one *compat_lock_list(struct list_lru *lru, struct ptdesc *table,
						    struct mem_cgroup **memcg)
{
	struct list_lru_one *list;
	struct mem_cgroup *found;

	for (;;) {
		found = compat_table_memcg(table);
		*memcg = found;
		list = list_lru_lock(lru, compat_table_nid(table), memcg);
		if (likely(compat_table_memcg(table) == found))
			return list;
		list_lru_unlock(list);
	}
}

static inline bool compat_list_add(struct list_lru *lru, struct ptdesc *table, gfp_t gfp)
{
	struct list_lru_one *list;
	struct mem_cgroup *memcg;
	bool added = false;

	rcu_read_lock();
	memcg = compat_table_memcg(table);
	if (compat_list_make(lru, memcg, gfp)) {
		list = compat_lock_list(lru, table, &memcg);
		added = __list_lru_add(lru, list, &table->pt_list, compat_table_nid(table), memcg);
		list_lru_unlock(list);
	}
	rcu_read_unlock();
	return added;
}

static inline void compat_list_del(struct list_lru *lru, struct ptdesc *table)
{
	struct list_lru_one *list;
	struct mem_cgroup *memcg;

	rcu_read_lock();
	list = compat_lock_list(lru, table, &memcg);
	__list_lru_del(lru, list, &table->pt_list, compat_table_nid(table));
	list_lru_unlock(list);
	rcu_read_unlock();
}

#define compat_list_walk	list_lru_walk_one
#endif

#endif /* __MM_UNMAP_COMPAT_LIST_H */
