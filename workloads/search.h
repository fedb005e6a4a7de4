/* SPDX-License-Identifier: GPL-2.0-only */
/* The patterns that search plays: search_pattern.c. */
#ifndef SEARCH_H
#define SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* How memory is given back. */
enum way {
	WAY_DONTNEED,
	WAY_FREE,	/* MADV_FREE, and reclaim at once */
	WAY_PUNCH,	/* shared memory */
	WAY_PAGEOUT,	/* to swap */
	WAY_UNMAP,	/* by a new mapping */
};

#define NR_WAYS	(WAY_UNMAP + 1)

/**
 * struct pattern - what a program does
 * @len: bytes of the mapping
 * @kib: the size of its folios
 * @step: it touches each page of so many
 * @shuffled: in an order that looks random
 * @way: how it gives memory back
 * @piece: bytes of a call
 * @every: it gives back one piece of so many
 * @pieces_shuffled: in an order that looks random
 * @forks: a child has the memory meanwhile
 * @policy: the tables_policy
 */
struct pattern {
	size_t len;
	unsigned long kib, step;
	bool shuffled;
	enum way way;
	size_t piece, every;
	bool pieces_shuffled, forks;
	const char *policy;
};

/* The pattern that a case's name, SEED-NUMBER, stands for. */
struct pattern draw_pattern(const char *name);
/* Print it. */
void describe_pattern(const struct pattern *p);

#endif /* SEARCH_H */
