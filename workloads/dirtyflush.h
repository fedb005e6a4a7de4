/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of the dirtyflush workload.
 *
 * dirtyflush.c		cases, reclaim, what is counted and checked
 * dirtyflush_memory.c	memory of either kind, and the order in which it is faulted in
 */
#ifndef DIRTYFLUSH_H
#define DIRTYFLUSH_H

#include "lib/workload.h"

#define MAX_CPUS	8U

/* What a case's name says: CPUSxSIZE[-shmem][-reclaim][-four|-shuffled]. */
struct plan {
	unsigned int cpus;
	unsigned long kib;	/* of a folio */
	size_t len;
	bool shmem;
	bool reclaim;
	bool four;
	bool shuffled;
};

/* Map the plan's memory and fault it in, by writing to every page.  Call it once. */
char *make_memory(const struct plan *plan);
/* Fail unless every page reads as make_memory() wrote it. */
void check_memory(void);
/* Let the calling thread run on this processor only. */
void pin_to(unsigned int cpu);
/* Under -icount, give the turn to the next processor; elsewhere, wait for a moment. */
void relax(void);

#endif /* DIRTYFLUSH_H */
