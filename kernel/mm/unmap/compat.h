/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How Linux 6.12 and 7.3 differ in page descriptors and in what a process is charged.  The code
 * is written for the newest kernel.
 */
#ifndef __MM_UNMAP_COMPAT_H
#define __MM_UNMAP_COMPAT_H

#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
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

/* For work that may run on any CPU.  7.3 warns of the old name. */
#if UNMAP_ON_6_12
#define system_dfl_wq	system_unbound_wq
#endif

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

#endif /* __MM_UNMAP_COMPAT_H */
