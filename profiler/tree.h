/* SPDX-License-Identifier: GPL-2.0-only */
/* A call tree with the counts of each call path. */
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

/* The node for calls of @symbol from @parent; created if there is none. */
struct node *tree_child(struct node *parent, unsigned int symbol);

/*
 * Print every node below @root that has counts:
 * "A;B;C CALLS INSTRUCTIONS ATOMICS FLUSHES_ONE FLUSHES_ALL".
 */
void tree_print(const struct node *root, FILE *out);

/* Free everything below @root, and reset its counts. */
void tree_clear(struct node *root);

#endif /* SWATHE_PROFILER_TREE_H */
