/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How kernels differ in the control groups of records of empty page tables, and in the
 * lists of the shrinker that hold the records.
 */
#ifndef __MM_UNMAP_COMPAT_GROUP_H
#define __MM_UNMAP_COMPAT_GROUP_H

#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/nodemask.h>
#include <linux/rcupdate.h>
#include <linux/shrinker.h>
#include <linux/unmap_compat.h>

/*
 * The control group of a record, with a reference; NULL: none.  Any lock may be held.
 *
 * 6.12: the memcg.  When it is removed, it gets the id of its parent, so that it still leads to
 * the list_lru that its records are in.
 * Newer ones: the memcg's obj_cgroup.  A removed memcg keeps its id, which the next one that is
 * made gets, too: then the id leads to a list of that one.  The obj_cgroup is handed to the
 * parent after the lists are and before the id is free.
 */
#ifndef CONFIG_UNMAP_STOCK_LIST_LOCKS
#define compat_group		mem_cgroup
#define compat_group_get	get_mem_cgroup_from_mm
#define compat_group_put	mem_cgroup_put
#else
#define compat_group		obj_cgroup
#define compat_group_put	obj_cgroup_put

#ifdef CONFIG_MEMCG
/* With an obj_cgroup for each node, that of the first node stands for the memcg. */
static inline struct obj_cgroup *compat_memcg_group(struct mem_cgroup *memcg)
{
#ifdef CONFIG_UNMAP_STOCK_NODE_OBJCG
	return rcu_dereference(memcg->nodeinfo[first_node(node_possible_map)]->objcg);
#else
	return rcu_dereference(memcg->objcg);
#endif
}
#endif

static inline struct obj_cgroup *compat_group_get(struct mm_struct *mm)
{
	struct obj_cgroup *group = NULL;
#ifdef CONFIG_MEMCG
	struct mem_cgroup *memcg;

	if (mem_cgroup_disabled())
		return NULL;
	rcu_read_lock();
	memcg = mem_cgroup_from_task(rcu_dereference(mm->owner));
	for (; memcg && !group; memcg = parent_mem_cgroup(memcg)) {
		group = compat_memcg_group(memcg);
		if (group && !obj_cgroup_tryget(group))
			group = NULL;
	}
	rcu_read_unlock();
#endif
	return group;
}

/* The memcg that has the lists of @group now.  The RCU read lock is held. */
static inline struct mem_cgroup *compat_group_memcg(struct obj_cgroup *group)
{
#ifdef CONFIG_MEMCG
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
 * Lock the list of @group; @memcg is set to the owner of the list.  The RCU read lock is held: it
 * keeps the memcg from being freed, but not its id from being used again.  If @group was handed
 * to the parent before the list was locked, the list may be that of a new memcg.
 */
static inline struct list_lru_one *compat_lock_list(struct list_lru *lru, int nid,
						    struct obj_cgroup *group,
						    struct mem_cgroup **memcg)
{
	struct list_lru_one *list;
	struct mem_cgroup *found;

	for (;;) {
		found = compat_group_memcg(group);
		*memcg = found;
		list = list_lru_lock(lru, nid, memcg);
		if (likely(compat_group_memcg(group) == found))
			return list;
		list_lru_unlock(list);
	}
}
#endif

/*
 * Add an item to the list of @group.  Returns false if there is no memory for the list.  Any
 * lock may be held.
 *
 * Reclaim of the memcg that has the list must call the shrinker then.  Newer kernels see to that;
 * 6.12 sets the shrinker bit of the memcg that it is given, but if that memcg has gone offline,
 * its parent has the list.
 */
static inline bool compat_list_add(struct list_lru *lru, struct list_head *item, int nid,
				   struct compat_group *group, gfp_t gfp)
{
#ifndef CONFIG_UNMAP_STOCK_LIST_LOCKS
	struct mem_cgroup *memcg = group;

	if (IS_ENABLED(CONFIG_MEMCG) && memcg && memcg_list_lru_alloc(memcg, lru, gfp))
		return false;
	if (!list_lru_add(lru, item, nid, memcg))
		return false;
#ifdef CONFIG_MEMCG
	for (; memcg; memcg = parent_mem_cgroup(memcg))
		set_shrinker_bit(memcg, nid, lru->shrinker_id);
#endif
	return true;
#else
	struct list_lru_one *list;
	struct mem_cgroup *memcg;
	bool added = false;

	rcu_read_lock();
	memcg = compat_group_memcg(group);
	if (!IS_ENABLED(CONFIG_MEMCG) || !memcg || !memcg_list_lru_alloc(memcg, lru, gfp)) {
		list = compat_lock_list(lru, nid, group, &memcg);
		added = __list_lru_add(lru, list, item, nid, memcg);
		list_lru_unlock(list);
	}
	rcu_read_unlock();
	return added;
#endif
}

/* Remove an item from the list of @group, where it is.  Any lock may be held. */
static inline void compat_list_del(struct list_lru *lru, struct list_head *item, int nid,
				   struct compat_group *group)
{
#ifndef CONFIG_UNMAP_STOCK_LIST_LOCKS
	list_lru_del(lru, item, nid, group);
#else
	struct list_lru_one *list;
	struct mem_cgroup *memcg;

	rcu_read_lock();
	list = compat_lock_list(lru, nid, group, &memcg);
	__list_lru_del(lru, list, item, nid);
	list_lru_unlock(list);
	rcu_read_unlock();
#endif
}

/*
 * list_lru_shrink_walk().  Where each list of a list_lru has its own lock, the callback does not
 * get it as an argument.
 */
#ifndef CONFIG_UNMAP_STOCK_LIST_LOCKS
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

#endif /* __MM_UNMAP_COMPAT_GROUP_H */
