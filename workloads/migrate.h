/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory that migrate moves, and checks of it: migrate_cargo.c. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include <sys/types.h>

#include "lib/workload.h"

/* The memory to move, and for each target node the arguments of move_pages(). */
struct cargo {
	char *mem;
	size_t len;
	unsigned long folios;	/* as loaded */
	void **heads;		/* the first page of each folio */
	pid_t sharers[8];	/* 0: none */
	struct leg {
		int *nodes;
		int *status;
	} to[2];
};

/**
 * struct freight - what kind of memory to move
 * @kib: anonymous folios of so many KiB, mapped by PTEs; 0: a file, in large folios
 * @shuffled: name the folios in an order that looks random
 * @straddled: map the memory half a folio off, so that two page tables map some folios
 * @sharers: so many child processes map it, too
 */
struct freight {
	unsigned long kib;
	bool shuffled, straddled;
	int sharers;
};

/* Have the memory on @node. */
struct cargo load(size_t len, const struct freight *freight, int node);
/* Fail unless the cargo is on @node and reads as written.  Returns its number of folios. */
unsigned long inspect(const struct cargo *cargo, int node);
void unload(struct cargo *cargo);

#endif /* MIGRATE_H */
