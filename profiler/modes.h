/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ways to count between a workload's marks: all instructions by function (calls.c); a few
 * kinds of events, at less cost (count.c); these and all accesses to memory (memory.c); or locks,
 * how long they are held, and stretches without preemption or interrupts (locks.c).
 *
 * Nothing here takes locks: under -icount all CPUs share one thread.
 */
#ifndef SWATHE_PROFILER_MODES_H
#define SWATHE_PROFILER_MODES_H

#include <stdbool.h>
#include <stdio.h>

#include "plugin.h"

#define MAX_CPUS	64

struct mode {
	const char *name;
	/* Register callbacks for the execution of this translation block. */
	void (*translated)(struct qemu_plugin_tb *tb);
	/* A workload starts; may be NULL. */
	void (*start)(void);
	/* A marked stretch begins: reset the counts.  It ends: stop counting. */
	void (*begin)(void);
	void (*end)(void);
	/* Print the counts of the last stretch. */
	void (*print)(FILE *out);
};

extern const struct mode calls_mode, count_mode, memory_mode, locks_mode;

/*
 * Say which processor memory_mode is a model of: "ENTRIES/WAYS" of L1, L2 and last-level cache, of
 * the first and the second data TLB, with a colon between each two.  Returns false if it is none.
 */
bool memory_caches(const char *text);

#endif /* SWATHE_PROFILER_MODES_H */
