/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stretches of instructions: a lock is held, preemption is off, interrupts are off.
 *
 * An interrupt that arrives during a stretch comes by chance: its instructions are left out
 * of the stretch.  A stretch that begins in an interrupt counts all instructions.
 */
#ifndef SWATHE_PROFILER_STRETCH_H
#define SWATHE_PROFILER_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

/* A function, and in the upper half its caller, if that says more; 0: not known. */
typedef uint64_t path_t;

struct stretch {
	bool runs;
	bool inside;			/* began in an interrupt */
	uint64_t began;
	path_t who;			/* the function that began it */
};

/* Of all stretches of one kind that ended between the marks, or were cut by a mark. */
struct sums {
	uint64_t times;
	uint64_t total;
	uint64_t longest;
	path_t who;			/* began the longest */
};

/* A block of @nr instructions begins, in an interrupt or not: the clock is at its first. */
void clock_block(unsigned int nr, bool inside);
/* The clock is at instruction @index of the block. */
void clock_at(unsigned int index);
/* All instructions since the plugin was loaded. */
uint64_t clock_read(void);

void stretch_begin(struct stretch *stretch, path_t who);
/* Add the stretch to @sums, unless it is NULL. */
void stretch_end(struct stretch *stretch, struct sums *sums);
/* A marked region begins: a stretch that runs counts from here. */
void stretch_restart(struct stretch *stretch);

#endif /* SWATHE_PROFILER_STRETCH_H */
