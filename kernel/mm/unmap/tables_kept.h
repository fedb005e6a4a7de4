/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of empty page tables that are not given back at once, and what is done
 * with them: tables_kept.c, tables_sweep.c, tables_shrink.c, tables_worker.c.
 */
#ifndef __MM_UNMAP_TABLES_KEPT_H
#define __MM_UNMAP_TABLES_KEPT_H

#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm_types.h>

#define PLACES			20
#define KEPT_BUCKET_BITS	6
#define KEPT_BUCKETS		BIT(KEPT_BUCKET_BITS)
/* A table that has not been empty for long is about to be filled again. */
#define KEEP_AGE		max(HZ / 50, 1)

struct mem_cgroup;

/**
 * struct places - where empty tables may be
 * @nr: how many were seen
 * @nr_places: how many of @place are in use
 * @since: when the last of them was seen, in jiffies
 * @start: where the others are: from here
 * @end: to here; 0: there are no others
 * @place: single tables, an address of each; where reclaim noticed it, the one it emptied
 */
struct places {
	unsigned int nr;
	unsigned int nr_places;
	unsigned long since;
	unsigned long start, end;
	unsigned long place[PLACES];
};

/**
 * struct kept - tables that an mm emptied while it belonged to one control group
 * @node: in the bucket of the mm
 * @lru: in the list of the group and the node, for the shrinker
 * @mm: theirs
 * @memcg: the group, with a reference; null where there are no such groups
 * @nid: the memory node; that of the processor that made the record
 * @pause: for how many ticks the worker leaves it alone after an attempt in vain
 * @due: the worker does not look at it before, in jiffies
 * @places: where the tables are
 */
struct kept {
	struct hlist_node node;
	struct list_head lru;
	struct mm_struct *mm;
	struct mem_cgroup *memcg;
	int nid;
	unsigned int pause;
	unsigned long due;
	struct places places;
};

static inline void unmap_places_clear(struct places *p)
{
	p->nr = 0;
	p->nr_places = 0;
	p->start = 0;
	p->end = 0;
}

static inline bool places_left(const struct places *p)
{
	return p->nr_places || p->end;
}

/* So few in so large a range that a walk through it is worth while now and then only. */
static inline bool places_are_sparse(const struct places *p)
{
	return (p->end - p->start) / PMD_SIZE > (unsigned long)p->nr * BITS_PER_LONG;
}

/*
 * tables_kept.c.  Who takes a record is its owner, and has a user of its mm until it
 * puts it back or drops it.
 */
void unmap_places_add(struct places *p, unsigned long start, unsigned long end,
		      unsigned int nr);
void unmap_places_copy(struct places *to, const struct places *from);
struct kept *unmap_kept_take_own(struct mm_struct *mm);
struct kept *unmap_kept_take_due(unsigned int bucket, unsigned long *next);
bool unmap_kept_try_take(struct kept *record);
void unmap_kept_put_back(struct kept *record);
void unmap_kept_drop(struct kept *record);

/* tables_sweep.c: how many were given back; places_left() tells whether that is all. */
unsigned int unmap_kept_sweep(struct kept *record, unsigned long age);

/* tables_shrink.c: the bucket's lock is held. */
bool unmap_kept_list(struct kept *record);
void unmap_kept_unlist(struct kept *record);

/* tables_waiting.c: after the shrinker's sweep. */
bool unmap_grace_many(struct mm_struct *mm);
void unmap_grace_await_room(void);

/* tables_worker.c: when it comes first, and again. */
#define WORKER_FIRST	max(HZ / 50, 1)
#define WORKER_RETRY	max(HZ / 100, 1)

#endif /* __MM_UNMAP_TABLES_KEPT_H */
