// SPDX-License-Identifier: GPL-2.0-only
/* Latencies of a process that a throttled task reclaims: see kept.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kept.h"

static bool kept_by_policy(void)
{
	char text[40];

	return read_text(POLICY, text, sizeof(text)) && strstr(text, "[pressure]");
}

/*
 * A victim with memory in many page tables, and a task with little CPU time, which reclaims
 * that memory.  A thread of the victim measures.
 */

#define VICTIM_TABLES	512L
#define VICTIM_LEN	(VICTIM_TABLES * PMD)

struct victim {
	struct latency *latency;	/* shared with the test */
	char *mem;
};

static void note_latency(struct latency *l, double seconds)
{
	double bound = 1e-5;
	int i;

	for (i = 0; i < DECADES - 1 && seconds >= bound; i++)
		bound *= 10;
	l->nr[i]++;
	l->longest = seconds > l->longest ? seconds : l->longest;
	l->stalled += seconds >= STALL ? seconds : 0;
}

/* PROT_NONE: the VMA does not merge with its neighbours, and so locks no anon_vma. */
static void *map_and_unmap(void *arg)
{
	struct victim *victim = arg;
	double began;
	void *mem;

	while (!READ_ONCE(victim->latency->stop)) {
		began = now();
		mem = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(mem, PAGE);
		note_latency(victim->latency, now() - began);
		usleep(500);
	}
	return NULL;
}

/* Under "eager" reclaim empties the tables: it frees lazyfree memory.  Else the victim does. */
static void victim_job(struct child *child, void *arg)
{
	struct victim *victim = arg;
	bool eager = !switch_has(UNMAP_TABLES) || !kept_by_policy();
	pthread_t thread;

	use_cpu(0);
	if (!group_enter("/victim", getpid()) ||
	    pthread_create(&thread, NULL, map_and_unmap, victim))
		_exit(1);
	victim->mem = map_tables(VICTIM_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	child_says_done(child);
	while (!READ_ONCE(victim->latency->stop)) {
		fill_tables(victim->mem, VICTIM_LEN);
		madvise(victim->mem, VICTIM_LEN, eager ? MADV_FREE : MADV_DONTNEED);
		usleep(100000);
	}
	pthread_join(thread, NULL);
	child_says_done(child);
}

static void reclaim_job(struct child *child, void *arg)
{
	use_cpu(1);
	if (!group_enter("/throttled", getpid()))
		_exit(1);
	child_says_done(child);
	for (;;) {
		group_write("/victim", "memory.reclaim", "4M swappiness=0");
		sched_yield();
	}
}

bool measure(struct latency *l, double seconds)
{
	struct victim victim = { .latency = l };
	struct child child, other;

	memset(l, 0, sizeof(*l));
	CHECK(child_start(&child, victim_job, &victim) && child_wait(&child));
	CHECK(child_start(&other, reclaim_job, NULL) && child_wait(&other));
	usleep(seconds * 1e6);
	WRITE_ONCE(l->stop, true);
	/* The throttled task may hold the victim's lock for seconds. */
	CHECK(child_wait(&child));
	child_end(&other);
	child_end(&child);
	return true;
}
