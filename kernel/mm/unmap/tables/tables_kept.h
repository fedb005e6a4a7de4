/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of empty page tables that are not freed at once (tables_kept.c), and the code
 * that sweeps them (tables_sweep.c, tables_shrink.c, tables_worker.c).
 */
#ifndef __MM_UNMAP_TABLES_KEPT_H
#define __MM_UNMAP_TABLES_KEPT_H

#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm_types.h>

#include "compat_group.h"
#include "table.h"

#define PLACES			20
#define KEPT_BUCKET_BITS	6
#define KEPT_BUCKETS		BIT(KEPT_BUCKET_BITS)
/* In jiffies.  A table that became empty less than that ago is likely to be filled again. */
#define KEEP_AGE		max(HZ / 50, 1)

/**
 * struct places - where empty tables may be
 * @nr: how many empty tables were seen
 * @nr_places: how many elements of @place are in use
 * @since: when the first of the tables was seen, in jiffies, if there are places
 * @start: start of the range that holds the tables not listed in @place
 * @end: end of that range; 0 if there is none
 * @place: one address in each single table; if reclaim emptied it, the address it unmapped
 */
struct places {
	unsigned int nr;
	unsigned int nr_places;
	unsigned long since;
	unsigned long start, end;
	unsigned long place[PLACES];
};

/**
 * struct kept - record of the tables that an mm emptied while in one control group
 * @node: in the bucket of the mm
 * @lru: in the shrinker's list of the group and the memory node
 * @mm: the mm of the tables
 * @group: the group, with a reference; null without memory control groups
 * @nid: memory node of the processor that made the record
 * @pause: ticks that the worker waits before it tries again if tables were left
 * @due: the worker does not sweep the record before this time, in jiffies
 * @places: where the tables are
 */
struct kept {
	struct hlist_node node;
	struct list_head lru;
	struct mm_struct *mm;
	struct compat_group *group;
	int nid;
	unsigned int pause;
	unsigned long due;
	struct places places;
};

static inline void unmap_places_clear(struct places *p)
{
	p->nr = 0;
	p->nr_places = 0;
	p->since = 0;
	p->start = 0;
	p->end = 0;
}

static inline bool places_left(const struct places *p)
{
	return p->nr_places || p->end;
}

/* Whether a range holds so few tables that it should be walked only now and then. */
static inline bool places_are_sparse(const struct places *p)
{
	return (p->end - p->start) / PMD_SIZE > (unsigned long)p->nr * BITS_PER_LONG;
}

/*
 * tables_kept.c.  The caller that takes a record owns it, together with a reference to its mm
 * (mmgrab()), until the caller puts the record back or drops it.
 */
void unmap_places_add(struct places *p, unsigned long start, unsigned long end,
		      unsigned int nr);
void unmap_places_copy(struct places *to, const struct places *from);
void unmap_kept_forget_all(void);
struct kept *unmap_kept_take_own(struct mm_struct *mm);
struct kept *unmap_kept_take_due(unsigned int bucket, unsigned long *next);
bool unmap_kept_try_take(struct kept *record, unsigned long age);
void unmap_kept_put_back(struct kept *record);
void unmap_kept_drop(struct kept *record);

/* tables_sweep.c: returns how many tables were freed; places_left() tells if any are left. */
unsigned int unmap_kept_sweep(struct kept *record, unsigned long age, enum table_by by);

/* tables_shrink.c: called with the bucket's lock held, but for the last. */
#ifdef CONFIG_UNMAP_TABLES_PRESSURE
bool unmap_kept_list(struct kept *record);
void unmap_kept_unlist(struct kept *record);
void unmap_kept_shrink_all(int nid, struct mem_cgroup *memcg);
#else
static inline void unmap_kept_shrink_all(int nid, struct mem_cgroup *memcg)
{
}

static inline bool unmap_kept_list(struct kept *record)
{
	return true;
}

static inline void unmap_kept_unlist(struct kept *record)
{
}
#endif

/* tables_waiting.c */
void unmap_grace_await_room(long few);

/* tables_worker.c: jiffies until the worker first sweeps a record, and until it retries. */
#define WORKER_FIRST	max(HZ / 50, 1)
#define WORKER_RETRY	max(HZ / 100, 1)

#endif /* __MM_UNMAP_TABLES_KEPT_H */
