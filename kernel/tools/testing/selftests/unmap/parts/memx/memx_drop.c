// SPDX-License-Identifier: GPL-2.0-only
/*
 * memx --drop: full page tables for reclaim to drop, all the time: see memx.h.
 *
 * Reclaim drops tables all of whose entries map a file, of processes that have many tables, and
 * have been idle.  So a process gets tables that are only there to be counted, and an operation
 * that maps a file in a whole table; a thread reclaims; and nobody is taken for busy.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "memx_run.h"

#define TABLES		"drop_tables"
#define COUNTED		40	/* tables; drop_walk.c passes over processes with less than 32 */
#define PAUSE		5000000	/* ns */

/* As the user has set them. */
static char idle[32], share[32];
static long long dropped_before;

struct operation drop_operations[] = {
	{ "map_table", 40, map_table, false },
	{ }
};

void drop_begin(void)
{
	read_text(DROP_IDLE, idle, sizeof(idle));
	read_text(DROP_SHARE, share, sizeof(share));
	dropped_before = unmap_stat(TABLES);
	write_number(DROP_IDLE, 0);
	write_number(DROP_SHARE, 0);
}

void drop_end(void)
{
	write_text(DROP_IDLE, idle);
	write_text(DROP_SHARE, share);
	printf("# %lld page tables were dropped\n", unmap_stat(TABLES) - dropped_before);
}

void have_many_tables(void)
{
	if (!pad_tables(COUNTED))
		differ("no memory for page tables: %m");
}

/* Of a few pages: not urgent.  Or of everything but pages: as urgent as can be. */
static void press(unsigned int *state)
{
	if (rand_r(state) % 4)
		reclaim_all((1 + rand_r(state) % 64) * PAGE);
	else
		write_text("/proc/sys/vm/drop_caches", "6");	/* 4: say nothing */
}

void *keep_pressing(void *seed)
{
	unsigned int state = (uintptr_t)seed;
	struct timespec pause = { .tv_nsec = PAUSE };

	while (!memx_stops()) {
		press(&state);
		nanosleep(&pause, NULL);
	}
	return NULL;
}
