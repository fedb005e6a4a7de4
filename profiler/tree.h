/* SPDX-License-Identifier: GPL-2.0-only */
/* A tree of calls with what was counted in each. */
#ifndef SWATHE_PROFILER_TREE_H
#define SWATHE_PROFILER_TREE_H

#include <stdint.h>
#include <stdio.h>

struct counts {
	uint64_t calls;
	uint64_t instructions;
	uint64_t atomics;
	uint64_t flushes_one;
	uint64_t flushes_all;
};

struct node {
	unsigned int symbol;
	struct node *parent, *child, *sibling;
	struct counts self;
};

/* The call of @symbol from @parent; made if it is the first. */
struct node *tree_child(struct node *parent, unsigned int symbol);

/*
 * Print every node that counted something below @root:
 * "A;B;C CALLS INSTRUCTIONS ATOMICS FLUSHES_ONE FLUSHES_ALL".
 */
void tree_print(const struct node *root, FILE *out);

/* Forget everything below @root, which stays. */
void tree_clear(struct node *root);

#endif /* SWATHE_PROFILER_TREE_H */
