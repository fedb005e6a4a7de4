// SPDX-License-Identifier: GPL-2.0-only
/* Latencies of a process that a throttled task reclaims: see fault_util.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault_util.h"
#include "unmap_util.h"

static void note(struct latency *l, double seconds)
{
	double bound = 0.00001;
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
	struct latency *latency = arg;
	double began;
	void *mem;

	while (!READ_ONCE(latency->stop)) {
		began = now();
		mem = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(mem, PAGE);
		note(latency, now() - began);
		usleep(500);
	}
	return NULL;
}

bool latency_start(pthread_t *thread, struct latency *latency)
{
	use_cpu(0);
	return group_enter("/victim", getpid()) &&
	       !pthread_create(thread, NULL, map_and_unmap, latency);
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

const char *latency_begin(struct throttled *t, const char *quota)
{
	if (!clock_is_exact())
		return CLOCK_INEXACT;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "needs two CPUs";
	if (!groups_make("+cpu +memory"))
		return "needs CONFIG_CFS_BANDWIDTH";
	if (!group_make("/victim") || !group_make("/throttled") ||
	    !group_write("/throttled", "cpu.max", quota))
		return "cannot make control groups";
	t->latency = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return t->latency == MAP_FAILED ? "no memory" : NULL;
}

void latency_end(struct throttled *t)
{
	munmap(t->latency, PAGE);
	group_remove("/victim");
	group_remove("/throttled");
	group_remove("");
}

static bool measure(const struct throttled *t, double seconds)
{
	struct child child, other;

	CHECK(child_start(&child, t->victim, t->latency) && child_wait(&child));
	CHECK(child_start(&other, reclaim_job, NULL) && child_wait(&other));
	usleep(seconds * 1e6);
	WRITE_ONCE(t->latency->stop, true);
	/* The throttled task may hold the victim's lock for seconds. */
	CHECK(child_wait(&child));
	child_end(&other);
	child_end(&child);
	return true;
}

static void show(const struct latency *l)
{
	printf("# longest %.1f ms, stalled for %.1f ms; below 10 us, 100 us, ...:",
	       l->longest * 1e3, l->stalled * 1e3);
	for (int i = 0; i < DECADES; i++)
		printf(" %ld", l->nr[i]);
	printf("\n");
}

bool latency_stays_low(struct throttled *t, double seconds)
{
	long long counted = unmap_stat(t->counter);

	CHECK(measure(t, seconds));
	counted = unmap_stat(t->counter) - counted;
	printf("# %s: %lld\n", t->counter, counted);
	show(t->latency);
	CHECK(counted > 0);
	CHECK(t->latency->stalled < seconds / 10);
	return true;
}
