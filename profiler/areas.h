/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel keeps in a line of memory, told by its address and by what was done to it.
 *
 * An address tells struct pages, stacks, the kernel's image and user memory.  What is in the
 * linear mapping is told page by page: a page table since a function that makes page tables
 * wrote to its struct page, per-CPU data since an instruction with the %gs prefix touched it.
 * Allocating the page again forgets that.
 */
#ifndef SWATHE_PROFILER_AREAS_H
#define SWATHE_PROFILER_AREAS_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin.h"

#define LINE_SHIFT	6
#define FRAME_SHIFT	12

enum area {
	AREA_PAGE,	/* struct pages */
	AREA_TABLE,	/* page tables */
	AREA_PERCPU,	/* per-CPU data: most statistics, lists of free pages */
	AREA_HEAP,	/* slabs: processes, VMAs, anon_vmas, memory control groups, LRU lists */
	AREA_IMAGE,	/* the kernel's own variables: zones, the LRU lists of the root group */
	AREA_STACK,	/* vmalloc(), where kernel stacks are */
	AREA_USER,	/* the content of pages */
	NR_AREAS
};

extern const char *const area_names[NR_AREAS];

/* What the function of an instruction is known to do. */
struct site {
	unsigned int symbol;
	bool percpu;		/* the instruction has the %gs prefix */
	bool allocates;		/* pages */
	bool makes_tables;
};

/* The use of 4 KiB; a bit for each line. */
struct frame {
	uint64_t number;
	uint64_t read, written;
	unsigned int stretch;	/* the marked stretch in which they were set */
	enum area area;
};

struct place {
	struct frame *frame;
	uint64_t line;		/* physical where an address tells it; never 0 */
	uint64_t page;		/* the translation that the address needs; never 0 */
};

/* Fill in all but symbol and percpu. */
void area_learn(struct site *site);

/* Where an access goes.  Its frame is NULL unless it is wanted, or tells something. */
struct place area_find(qemu_plugin_meminfo_t info, uint64_t vaddr, const struct site *site,
		       bool wanted);

/* Call a function for each frame. */
void area_each(void (*fn)(const struct frame *frame));

#endif /* SWATHE_PROFILER_AREAS_H */
