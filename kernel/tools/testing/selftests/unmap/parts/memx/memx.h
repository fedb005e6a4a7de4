/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memx: a model-based exerciser for memory mappings.
 *
 * An arena has pages with mappings of many kinds.  A model knows what every byte of the
 * arena must be.  Random operations are applied to both; a difference is a bug.
 *
 * memx.c		options, starting the processes
 * memx_run.c		one process: its world, and its operations one after the other
 * memx_shrink.c	the shortest sequence that still fails
 * memx_model.c		what each page must hold, and the comparison
 * memx_map.c		operations that change what is mapped
 * memx_content.c	operations that change what pages hold
 * memx_neutral.c	operations that must change nothing: reclaim, migration, pins
 * memx_tracking.c	soft-dirty and userfaultfd write-protection
 * memx_drop.c		full page tables for reclaim to drop
 *
 * Each process has a world.  No other process uses its objects (files, shared memory),
 * except a forked child, which inherits the world and its model.  While the child lives,
 * neither process changes an object.
 */
#ifndef MEMX_H
#define MEMX_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#include "../../lib/unmap_util.h"

#ifndef __noreturn
#define __noreturn	__attribute__((__noreturn__))
#endif
#ifndef __printf
#define __printf(a, b)	__attribute__((__format__(printf, a, b)))
#endif

#define ARENA_PAGES	8192U		/* sixteen tables of 512 entries */
#define OBJECT_PAGES	1024U
#define NR_OBJECTS	4
#define NR_SHMEM	2	/* the first of them; the others are files */
#define SECTORS		8
#define SECTOR		(PAGE / SECTORS)

/* A page's content: a stamp for each sector, which determines its bytes; 0: zeroes. */
struct content {
	__u32 sector[SECTORS];
};

enum backing { UNMAPPED, ANON, OBJECT };

/*
 * One page of the arena.
 *
 * @lazy: MADV_FREE'd and not written since: holds @own, or has become zeroes
 * @forked: may share its page with another process; see may_free()
 * @whole: in a VMA that may be soft-dirty as a whole (VM_SOFTDIRTY), so that its pages need
 *	no mark; 6.12 loses VM_SOFTDIRTY when it merges VMAs
 * @half: MADV_FREE'd and then written: the sectors not in @written are either all as in
 *	@own or all zero, and do not change any more
 */
struct page_model {
	enum backing backing;
	bool shared, copied, locked, nofork, wipe, ksm;
	bool lazy, half, forked, whole;
	bool soft_dirty;	/* written since the bits were cleared: must be marked */
	bool tracked, protected;	/* registered with userfaultfd; must be write-protected */
	__u8 prot, written, object;
	__u16 index;		/* page of the object */
	struct content own;
};

/* A file whose pages several mappings may share. */
struct object {
	int fd;
	__u32 size;		/* in pages; access beyond raises SIGBUS */
	struct content pages[OBJECT_PAGES];
};

struct range {
	__u32 first, nr;
};

struct world {
	char *arena;
	struct page_model *pages;
	struct object *objects;
	__u64 seed;
	__u64 random;		/* state of the generator, set anew for each operation */
	__u64 op;		/* the current operation */
	__u32 stamp;
	bool child, frozen;	/* this is a forked child; no object may change */
	bool soft_dirty_works;
	int uffd, pagemap;
	long long baseline;	/* pages of the process itself, before it used the arena */
};

extern struct world world;

/*
 * One kind of operation.  @weight: how often it is chosen, relative to the others.
 * @costly: works on the whole process or machine, and takes a hundred times as long.
 */
struct operation {
	const char *name;
	unsigned int weight;
	void (*act)(struct range range);
	bool costly;
};

extern struct operation map_operations[], content_operations[], neutral_operations[],
	tracking_operations[], drop_operations[];

/* Random numbers, determined by the seed and the operation's number. */
__u32 pick(__u32 below);
bool chance(__u32 one_in);
struct range pick_range(void);
void seed_operation(__u64 op);

/* End this process with a failure: memory differs from the model, or a call has failed. */
__noreturn __printf(1, 2) void differ(const char *fmt, ...);
/* Fail unless the call succeeded, or failed with one of the errors in @tolerated. */
bool worked(int result, const char *call, const char *tolerated);

/* The page is not registered with userfaultfd any more. */
static inline void forget_marks(struct page_model *page)
{
	page->tracked = false;
	page->protected = false;
}

static inline char *address(__u32 page)
{
	return world.arena + page * PAGE;
}

static inline struct page_model *model(__u32 page)
{
	return &world.pages[page];
}

/*
 * The number of pages from range.first on with the same kind of mapping, so that one call
 * treats all of them alike: at least one, at most range.nr.
 */
__u32 stretch(struct range range);
#define for_each_stretch(part, range)						\
	for (struct range part = { (range).first, stretch(range) };		\
	     part.first < (range).first + (range).nr;				\
	     part.first += part.nr,						\
	     part.nr = stretch((struct range){ part.first,			\
			(range).first + (range).nr - part.first }))

/* memx_model.c */
bool readable(const struct page_model *page);
bool across_end(const struct page_model *page);
bool writable(const struct page_model *page);
void forget(struct page_model *page);		/* everything but the mapping */
void model_write(__u32 page, int sector, __u32 stamp);
void fill_sector(void *sector, __u32 stamp);
void expect(__u32 page, const char *data);	/* or differ */
void vanish(struct page_model *page);		/* a MADV_FREE'd page was freed */
void check_page(__u32 page);
void check_range(struct range range);
void check_state(void);			/* check marks and counters; touches no page */
void check_world(void);				/* the same, and check every byte */
/* Pages in memory and in swap; how far the kernel's counters may be off. */
long long pages_in_use(void);
long long counters_slack(void);
void object_changed(int object, __u32 index, __u32 nr);
void check_marks_of(struct range range);
void model_share(void);
void model_fork(void);				/* in the child */

/* memx_map.c: map new anonymous memory, or shared memory, writable; an object, in a whole table. */
void map_fresh(struct range range);
void map_shmem(struct range range);
void map_table(struct range range);

/* memx_content.c */
void write_all(struct range range);
void remove_pages(struct range range);
void lazyfree(struct range range);

/* memx_neutral.c: an operation of the disturbing threads. */
void disturb(unsigned int *state);
void release_pins(void);

#endif /* MEMX_H */
