/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two ways to count between a workload's markers: everything, function by
 * function (calls.c), or a few kinds of event alone, cheaply (count.c).
 *
 * For -icount, where all CPUs share one thread: nothing here is locked.
 */
#ifndef SWATHE_PROFILER_MODES_H
#define SWATHE_PROFILER_MODES_H

#include <stdio.h>

#include "plugin.h"

#define MAX_CPUS	64

struct mode {
	const char *name;
	/* Register what is to be called when this code is executed. */
	void (*translated)(struct qemu_plugin_tb *tb);
	/* A marked stretch begins: forget what was counted.  It ends: count no more. */
	void (*begin)(void);
	void (*end)(void);
	/* Print what the last stretch counted. */
	void (*print)(FILE *out);
};

extern const struct mode calls_mode, count_mode;

/* enum insn_kind of one instruction. */
unsigned int decode_insn(const struct qemu_plugin_insn *insn);

#endif /* SWATHE_PROFILER_MODES_H */
