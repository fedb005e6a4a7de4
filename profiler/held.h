/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The locks of the guest, by address: who holds them, and for how long.
 *
 * The guest has one CPU.  So a spinlock that is held is never waited for, and a lock that
 * sleeps is waited for by another task.
 */
#ifndef SWATHE_PROFILER_HELD_H
#define SWATHE_PROFILER_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "stretch.h"

enum lock_how {
	LOCK_SHARED	= 1 << 0,	/* other readers may hold it, too */
	LOCK_SLEEPS	= 1 << 1,
	LOCK_TRIES	= 1 << 2,	/* fails rather than wait */
};

/* @who, a function, takes the lock at @addr, or waits for it. */
void held_acquire(uint64_t addr, unsigned int how, path_t who);

/*
 * Code stores a byte at @addr, or updates it atomically: a lock that spins is released in
 * this way, if it is held.
 */
void held_byte(uint64_t addr);
void held_update(uint64_t addr);

/* A lock that sleeps is released, or its writer becomes a reader, if @addr is held. */
void held_release(uint64_t addr);
void held_downgrade(uint64_t addr);

/* @who stores at @addr when it initialises an object that has a lock. */
void held_initialise(uint64_t addr, unsigned int who);

/* A marked region begins, or ends. */
void held_begin(void);
void held_end(void);
void held_print(FILE *out);

/* Print "off WHAT WHO TIMES TOTAL LONGEST"; who is "CALLER;FUNCTION" or "FUNCTION". */
void sums_print(const char *what, const struct sums *sums, FILE *out);

#endif /* SWATHE_PROFILER_HELD_H */
