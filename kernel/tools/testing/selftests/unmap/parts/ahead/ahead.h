/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of ahead, which tests that reclaim evicts neighbours together.
 *
 * ahead_util.c		memory, counters, what reclaim did with each page, on and off
 * ahead_take.c		what is taken, and what is not, although nothing refuses it
 * ahead_refuse.c	pages and memory that are refused
 * ahead_hot.c		pages that are in use
 * ahead_list.c		folios that are no neighbours, or larger than a page
 * ahead_race.c		other threads change memory between the list and the lock
 * ahead_lost.c		stores that must reach the file
 * ahead_stale.c	stores that other CPUs must see at once
 * ahead_swap.c		swap that is full, limited, or taken away
 *
 * Jobs run in processes of their own: see apart().  They make their memory with ahead_make().
 */
#ifndef AHEAD_H
#define AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../lib/fault_util.h"
#include "../../lib/unmap_util.h"

#define LEN		PMD
#define PAGES		((long)(LEN / PAGE))
#define SEED		23
#define STRETCH		32L	/* the most folios that are evicted together */
#define NR_KINDS	4
#define WINDOW		50	/* us */

/*
 * What this process's own memory may add to counts during memory.reclaim: its stack, its data.
 * Reclaim of the file lists alone finds none of it.
 */
#define OWN		96L
long ahead_own(enum kind kind);

typedef bool (*ahead_job)(struct scene *scene);

/* What reclaim did. */
enum fate { GONE, STAYED, SWAPPED };

struct outcome {
	__u8 fate[PMD / PAGE];	/* enum fate */
	long there;		/* how many stayed */
	/* By how much counters rose. */
	long long taken, stretches, hot, entries, freed, swapped, activated;
	long wasted;		/* pages in use that got swap entries, and stayed (hot_rounds()) */
	long note;		/* a number that only the job knows the meaning of */
};

/* The outcome of the job that runs now: memory shared with the test. */
extern struct outcome *outcome;

/*
 * Memory of scene->kind with fill()'s content, in folios of scene->kib, all
 * mapped; files are clean.
 */
bool ahead_make(struct scene *scene);
/* The number of pages with wrong content; what was lazyfree may be zero. */
long ahead_wrong(const struct scene *scene);
/* Should this kernel evict neighbours together?  Linux 6.12, if that is switched on. */
bool ahead_is_on(void);
/* The same, for memory of this kind? */
bool ahead_takes(enum kind kind);
/* How many folios were evicted ahead of their turn since boot; 0 if this kernel does not count. */
long long ahead_taken(void);
/*
 * MADV_PAGEOUT, with the outcome; references do not count.  The pages are on reclaim's list
 * in the order of their addresses.
 */
bool ahead_page_out(const struct scene *scene);
/* memory.reclaim in passes, with the outcome; references count, but all are cleared first. */
bool ahead_reclaim(const struct scene *scene, int passes);
/* Count from here to there, for @outcome. */
void ahead_count_from(void);
void ahead_count_to(void);
/* Run the job with the switch on (or off). */
bool ahead_run(ahead_job job, struct scene *scene, bool on);
/* Run the job switched off and on, and compare the fates of all pages and the counters. */
bool ahead_both(ahead_job job, struct scene *scene);
/* Run it switched off and on; the number that each run has noted. */
bool ahead_twice(ahead_job job, struct scene *scene);
long ahead_note(bool on);

/* ahead_take.c */
bool take_all(struct scene *scene);
bool take_max_run(struct scene *scene);
bool take_alone(struct scene *scene);
bool take_vmas(struct scene *scene);
bool take_tables(struct scene *scene);
bool take_reclaim(struct scene *scene);

/* ahead_refuse.c */
bool refuse_shared(struct scene *scene);
bool refuse_some_shared(struct scene *scene);
bool refuse_referenced(struct scene *scene);
bool refuse_pinned(struct scene *scene);
bool refuse_armed(struct scene *scene);
bool refuse_mlocked(struct scene *scene);
bool refuse_dirty(struct scene *scene);
bool refuse_some_dirty(struct scene *scene);
bool refuse_merged(struct scene *scene);
bool refuse_notified(struct scene *scene);
bool refuse_copied(struct scene *scene);
bool refuse_redirtied(struct scene *scene);

/* ahead_hot.c */
#define EVERY_HOT	8L	/* one of so many pages is hot */
#define HOT		(PAGES / EVERY_HOT)
/*
 * Notes how often a hot page was evicted.  Some cold ones must be, and hot ones among them must
 * have been refused.  @make: makes the memory anew for each round; or NULL.
 */
bool hot_rounds(struct scene *scene, ahead_job make);
bool hot_stays(struct scene *scene);
bool aged_stays(struct scene *scene);

/* ahead_list.c */
bool list_all(struct scene *scene);
bool list_shared(struct scene *scene);
bool list_hot(struct scene *scene);
bool list_hot_anew(struct scene *scene);

/* ahead_race.c */
void race_seed(unsigned long seed);
bool race_faults(struct scene *scene);
bool race_fork(struct scene *scene);
bool race_mremap(struct scene *scene);
bool race_uffd_move(struct scene *scene);
bool race_remap(struct scene *scene);
bool race_truncate(struct scene *scene);
bool race_migrate(struct scene *scene);
bool race_mlock(struct scene *scene);
bool race_mprotect(struct scene *scene);

/* ahead_lost.c */
bool lost_store(struct scene *scene);
bool lost_writeback(struct scene *scene);

/* ahead_stale.c: of a file, memory is mapped privately. */
bool stale_read(struct scene *scene);

/* ahead_swap.c */
bool swap_full(struct scene *scene);
bool swap_limit(struct scene *scene);
bool swap_used(struct scene *scene);

#endif /* AHEAD_H */
