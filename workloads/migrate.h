/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory that migrate moves, and checks of it: migrate_cargo.c. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "lib/workload.h"

/* The memory to move, and for each target node the arguments of move_pages(). */
struct cargo {
	char *mem;
	size_t len;
	unsigned long folios;	/* as loaded */
	void **heads;		/* the first page of each folio */
	struct leg {
		int *nodes;
		int *status;
	} to[2];
};

/*
 * Allocate anonymous folios of @kib KiB on @node, mapped by PTEs; or, if @kib is 0, map a
 * file in large folios.
 */
struct cargo load(size_t len, unsigned long kib, int node);
/* Fail unless the cargo is on @node and reads as written.  Returns its number of folios. */
unsigned long inspect(const struct cargo *cargo, int node);
void unload(struct cargo *cargo);

#endif /* MIGRATE_H */
