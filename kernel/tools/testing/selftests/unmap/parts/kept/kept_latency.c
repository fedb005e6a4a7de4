// SPDX-License-Identifier: GPL-2.0-only
/* A process that a throttled task reclaims: see kept.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kept.h"

static bool kept_by_policy(void)
{
	char text[40];

	return read_text(POLICY, text, sizeof(text)) && strstr(text, "[pressure]");
}

/* A victim with memory in many page tables, and a task with little CPU time, which reclaims it. */

#define VICTIM_TABLES	512L
#define VICTIM_LEN	(VICTIM_TABLES * PMD)

/* Under "eager" reclaim empties the tables: it frees lazyfree memory.  Else the victim does. */
void victim_job(struct child *child, void *arg)
{
	struct latency *latency = arg;
	bool eager = !switch_has(UNMAP_TABLES) || !kept_by_policy();
	pthread_t thread;
	char *mem;

	if (!latency_start(&thread, latency))
		_exit(1);
	mem = map_tables(VICTIM_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	child_says_done(child);
	while (!READ_ONCE(latency->stop)) {
		fill_tables(mem, VICTIM_LEN);
		madvise(mem, VICTIM_LEN, eager ? MADV_FREE : MADV_DONTNEED);
		usleep(100000);
	}
	pthread_join(thread, NULL);
	child_says_done(child);
}
