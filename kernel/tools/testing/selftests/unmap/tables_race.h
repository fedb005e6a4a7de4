/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables that are emptied and filled at the same time, by threads that own the
 * pages: each knows what every page of its own must hold, whatever the others do to
 * the tables they share.
 */
#ifndef TABLES_RACE_H
#define TABLES_RACE_H

#include "fault_util.h"
#include "unmap_util.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#ifndef BIT
#define BIT(nr)	(1U << (nr))
#endif

/* What an owner does to a page of its own. */
enum own {
	OWN_WRITE,
	OWN_DONTNEED,
	OWN_PUNCH,	/* a hole in the shmem file; DONTNEED where there is none */
	OWN_PAGEOUT,
	OWN_FREE,	/* MADV_FREE, then reclaim: gone, or there */
	OWN_PROTECT,	/* read-only for a moment */
	OWN_READV,	/* read by the kernel: GUP */
	OWN_SPLICE,	/* and GUP-fast */
	OWN_MOVE,	/* mremap() to another table, and back */
	OWN_MOVE_NEAR,	/* within its table, and back */
	OWN_DONTUNMAP,	/* away with MREMAP_DONTUNMAP, and back */
	OWN_FORK,	/* a child finds its pages as they are */
	OWN_WP,		/* write-protected by userfaultfd, the marker is looked for */
	OWN_MOVE_IN,	/* filled by UFFDIO_MOVE instead of UFFDIO_COPY */
	NR_OWN,
};

/* What others do to all of the memory. */
enum other {
	OTHER_COLLAPSE,
	OTHER_RECLAIM,
	OTHER_PAGEOUT,
	OTHER_PUNCH,	/* pages of the file that nobody owns come and go */
	OTHER_POKE,	/* a neighbour's shmem pages, in the tables moved to, too */
	OTHER_EMPTY,	/* what owners left there for it goes, without the mmap lock */
	OTHER_SHIFT,	/* another mapping of the file moves, whole tables of it */
	OTHER_LOOK,	/* smaps, pagemap, mincore() */
	OTHER_FLIP,	/* policy and window; with TABLES_SWITCH set, the switch, too */
	NR_OTHER,
};

/* Private memory, shared memory, or private over a file of shared memory. */
enum area { AREA_ANON, AREA_SHMEM, AREA_COPIED };

/* What userfaultfd has to say about it. */
enum uffd_mode { UFFD_NONE, UFFD_MISSING, UFFD_WP };

#define NR_OTHERS	2

struct race {
	struct scene scene;		/* for apart() */
	enum area area;
	enum uffd_mode uffd;
	unsigned int own;		/* BIT()s of enum own */
	unsigned int other[NR_OTHERS];	/* of enum other; none: no such thread */
	int seconds;
};

/* As long as suits races. */
void race_window(bool wide);
/* Null, or what is missing. */
const char *race_needs(const struct race *race);
/* For apart(), of a struct race; TABLES_SECONDS and TABLES_SEED are obeyed. */
bool race_job(struct scene *scene);
/* Processes of that kind are killed at random. */
bool race_killed_job(struct scene *scene);
/* Eight processes, all of it at random. */
bool race_stress_job(struct scene *scene);

#endif /* TABLES_RACE_H */
