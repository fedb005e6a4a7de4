/* SPDX-License-Identifier: GPL-2.0-only */
/* What migrate moves, and how to tell that it arrived whole: migrate_cargo.c. */
#ifndef MIGRATE_H
#define MIGRATE_H

#include "workload.h"

/* What is moved, and for each node what move_pages() is told, and tells. */
struct cargo {
	char *mem;
	size_t len;
	unsigned long folios;	/* as loaded */
	void **heads;		/* the first page of each */
	struct leg {
		int *nodes;
		int *status;
	} to[2];
};

/* On @node, anonymous folios of @kib KiB mapped by PTEs; 0: a mapped file in large folios. */
struct cargo load(size_t len, unsigned long kib, int node);
/* Fail unless all of it is on @node and reads as written.  Return how many folios it is. */
unsigned long inspect(const struct cargo *cargo, int node);
void unload(struct cargo *cargo);

#endif /* MIGRATE_H */
