/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memx: a model-based exerciser for memory mappings.
 *
 * An arena of pages, mapped anyhow, and beside it a model that knows of every byte
 * what it must be.  Random operations are done to both; whatever differs is a bug.
 *
 * memx.c		options, all processes together
 * memx_run.c		one process, its world, one operation after the other
 * memx_shrink.c	the shortest sequence that still fails
 * memx_model.c		what each page must hold, and the comparison
 * memx_map.c		operations that change what is mapped
 * memx_content.c	operations that change what pages hold
 * memx_neutral.c	operations that must change nothing: reclaim, migration, pins
 * memx_tracking.c	soft-dirty and userfaultfd write-protection
 *
 * One process has one world.  Its objects (files, shared memory) belong to it alone;
 * a forked child inherits the world and its model, and while it lives neither side
 * changes an object.
 */
#ifndef MEMX_H
#define MEMX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

#include "unmap_util.h"

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

/* What a page holds: a stamp for each eighth, from which all its bytes follow; 0: zeroes. */
struct content {
	__u32 sector[SECTORS];
};

enum backing { UNMAPPED, ANON, OBJECT };

/*
 * One page of the arena.
 *
 * @lazy: MADV_FREE'd and not written since: holds @own, or has become zeroes
 * @forked: may share its page with another process; see may_free()
 * @whole: in a VMA that may count as soft-dirty as a whole, so that pages need no mark of
 *	their own; 6.12 forgets this of a VMA that it merges with another
 * @half: MADV_FREE'd and then written: the sectors not in @written are all as in @own
 *	or all zero, and stay what they are
 */
struct page_model {
	enum backing backing;
	bool shared, copied, locked, nofork, wipe, ksm;
	bool lazy, half, forked, whole;
	bool soft_dirty;	/* written since the bits were cleared: must be marked */
	bool tracked, protected;	/* by userfaultfd; must be marked as protected */
	__u8 prot, written, object;
	__u16 index;		/* page of the object */
	struct content own;
};

/* A file whose pages several mappings may share. */
struct object {
	int fd;
	__u32 size;		/* in pages; what lies beyond raises SIGBUS */
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
	__u64 op;		/* the operation at hand */
	__u32 stamp;
	bool child, frozen;	/* in a fork; no object may change */
	bool soft_dirty_works;
	int uffd, pagemap;
	long long baseline;	/* pages of the process itself, before it used the arena */
};

extern struct world world;

/*
 * One kind of operation; @weight is how often it is chosen, in relation to the others.
 * @costly ones work on all of a process or of the machine, and take a hundred times as
 * long as others.
 */
struct operation {
	const char *name;
	unsigned int weight;
	void (*act)(struct range range);
	bool costly;
};

extern struct operation map_operations[], content_operations[], neutral_operations[],
	tracking_operations[];

/* Random numbers, the same for the same seed and operation. */
__u32 pick(__u32 below);
bool chance(__u32 one_in);
struct range pick_range(void);
void seed_operation(__u64 op);

/* End this process: the model and the memory differ, or a call failed that must not. */
__noreturn __printf(1, 2) void differ(const char *fmt, ...);
/* A call that must succeed, or fail in one of the ways that change nothing. */
bool worked(int result, const char *call, const char *tolerated);

/* Userfaultfd does not know the page any more. */
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
 * Pages from range.first on that are mapped alike, so that one call does the same to
 * all: at least one, at most range.nr.
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
void forget(struct page_model *page);		/* all but where and how it is mapped */
void model_write(__u32 page, int sector, __u32 stamp);
void fill_sector(void *sector, __u32 stamp);
void expect(__u32 page, const char *data);	/* or differ */
void vanish(struct page_model *page);		/* MADV_FREE'd pages that are gone */
void check_page(__u32 page);
void check_range(struct range range);
void check_state(void);			/* marks and counters, cheap: no page is touched */
void check_world(void);				/* that, and every byte */
/* In memory and in swap, and how far the kernel's counters may be off. */
long long pages_in_use(void);
long long counters_slack(void);
void object_changed(int object, __u32 index, __u32 nr);
void check_marks_of(struct range range);
void model_share(void);
void model_fork(void);				/* in the child */

/* memx_map.c: new anonymous memory, and shared memory, that can be written. */
void map_fresh(struct range range);
void map_shmem(struct range range);

/* memx_content.c */
void write_all(struct range range);
void remove_pages(struct range range);
void lazyfree(struct range range);

/* memx_neutral.c: what other threads do all the time. */
void disturb(unsigned int *state);
void release_pins(void);

#endif /* MEMX_H */
