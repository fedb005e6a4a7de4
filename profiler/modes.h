/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two ways to count between a workload's marks: all instructions by function
 * (calls.c), or a few kinds of events, at less cost (count.c).
 *
 * Nothing here takes locks: under -icount all CPUs share one thread.
 */
#ifndef SWATHE_PROFILER_MODES_H
#define SWATHE_PROFILER_MODES_H

#include <stdio.h>

#include "plugin.h"

#define MAX_CPUS	64

struct mode {
	const char *name;
	/* Register callbacks for the execution of this translation block. */
	void (*translated)(struct qemu_plugin_tb *tb);
	/* A marked stretch begins: reset the counts.  It ends: stop counting. */
	void (*begin)(void);
	void (*end)(void);
	/* Print the counts of the last stretch. */
	void (*print)(FILE *out);
};

extern const struct mode calls_mode, count_mode;

#endif /* SWATHE_PROFILER_MODES_H */
