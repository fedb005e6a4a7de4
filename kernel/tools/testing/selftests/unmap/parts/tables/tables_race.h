/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that empty and fill the same page tables at the same time.
 *
 * An owner is a thread with pages of its own in tables that it shares with other owners.
 * It knows what each of its pages must hold, whatever the other threads do to the tables.
 * A disturber works on all of the memory and owns no page.
 *
 * tables_race.c	the races: owners, disturbers, processes that are killed, stress
 * tables_arena.c	the memory
 * tables_owner.c	what owners do to their pages
 * tables_disturb.c	what disturbers do to all of the memory
 */
#ifndef TABLES_RACE_H
#define TABLES_RACE_H

#include "../../lib/fault_util.h"
#include "../../lib/unmap_util.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#ifndef BIT
#define BIT(nr)	(1U << (nr))
#endif

/* An owner's operations on one of its pages. */
enum own {
	OWN_WRITE,
	OWN_DONTNEED,
	OWN_PUNCH,	/* a hole in the shmem file; DONTNEED where there is none */
	OWN_PAGEOUT,
	OWN_FREE,	/* MADV_FREE and reclaim: the page may go or stay */
	OWN_PROTECT,	/* read-only for a moment */
	OWN_READV,	/* process_vm_readv(): GUP */
	OWN_SPLICE,	/* vmsplice(): GUP-fast */
	OWN_MOVE,	/* mremap() to another table, and back */
	OWN_MOVE_NEAR,	/* within its table, and back */
	OWN_DONTUNMAP,	/* moved with MREMAP_DONTUNMAP, and back */
	OWN_FORK,	/* a child checks all of the owner's pages */
	OWN_WP,		/* write-protected by userfaultfd; the marker must stay */
	OWN_MOVE_IN,	/* filled by UFFDIO_MOVE instead of UFFDIO_COPY */
	NR_OWN,
};

/* A disturber's operations on all of the memory. */
enum other {
	OTHER_COLLAPSE,
	OTHER_RECLAIM,
	OTHER_PAGEOUT,
	OTHER_PUNCH,	/* fill and punch pages of the file that no thread owns */
	OTHER_POKE,	/* fill and punch shmem pages in the tables that owners move to */
	OTHER_EMPTY,	/* punch the pages that owners filled for it: no mmap lock */
	OTHER_SHIFT,	/* mremap() whole tables of another mapping of the file */
	OTHER_LOOK,	/* read smaps and pagemap, call mincore() */
	OTHER_FLIP,	/* change policy and window; if TABLES_SWITCH is set, the switch */
	NR_OTHER,
};

/* Anonymous memory, shmem, or a private mapping of shmem. */
enum area { AREA_ANON, AREA_SHMEM, AREA_COPIED };

/* How userfaultfd watches the memory. */
enum uffd_mode { UFFD_NONE, UFFD_MISSING, UFFD_WP };

#define NR_OTHERS	2

struct race {
	struct scene scene;		/* for apart() */
	enum area area;
	enum uffd_mode uffd;
	unsigned int own;		/* BIT()s of enum own */
	unsigned int other[NR_OTHERS];	/* of enum other; 0: no such thread */
	long tables;			/* that must be freed */
	bool kept;			/* the policy keeps them until reclaim */
};

/* Readers find tables that are being freed more often: see table_window(). */
void race_window(bool wide);
/* NULL, or what the machine lacks. */
const char *race_needs(const struct race *race);
/*
 * Jobs for apart(), with a struct race.  They run until enough happened, and for TABLES_SECONDS,
 * if that is set.  TABLES_SEED applies.
 */
bool race_job(struct scene *scene);
/* The race runs in processes that are killed at random times. */
bool race_killed_job(struct scene *scene);
/* Eight processes race, with random operations. */
bool race_stress_job(struct scene *scene);

#endif /* TABLES_RACE_H */
