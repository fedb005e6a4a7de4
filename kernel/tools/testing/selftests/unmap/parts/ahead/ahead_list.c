// SPDX-License-Identifier: GPL-2.0-only
/*
 * One flush for many writes: see ahead.h.  Reclaim unmaps written memory while another thread of
 * the process runs, so that each flush needs another CPU.  Faults come to single anonymous pages
 * in random order, so that they are no neighbours on reclaim's list.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ahead.h"

#define LISTED		"ahead_listed"

static struct {
	pthread_t thread;
	bool stop, started;
} busy;

static void *stay_busy(void *unused)
{
	use_cpu(1);
	WRITE_ONCE(busy.started, true);
	while (!READ_ONCE(busy.stop))
		cpu_relax();
	return unused;
}

static bool start_busy(void)
{
	busy.stop = false;
	busy.started = false;
	CHECK(!pthread_create(&busy.thread, NULL, stay_busy, NULL));
	while (!READ_ONCE(busy.started))
		usleep(100);
	return true;
}

static void end_busy(void)
{
	WRITE_ONCE(busy.stop, true);
	pthread_join(busy.thread, NULL);
}

static bool is_shuffled(const struct scene *s)
{
	return s->kind == ANON && s->kib == 4;
}

/* 67 has no common divisor with PAGES, and no two neighbours follow each other. */
static void fill_in_order(const struct scene *s)
{
	long step = is_shuffled(s) ? 67 : 1;

	for (long i = 0, at = 0; i < PAGES; i++, at = (at + step) % PAGES)
		memset(s->mem + at * PAGE, fill_byte(at, SEED), PAGE);
}

static bool list_make(struct scene *s)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	s->fd = -1;
	if (s->kind == SHMEM) {
		s->fd = memfd_create("ahead", MFD_CLOEXEC);
		CHECK(s->fd >= 0 && !ftruncate(s->fd, s->len));
		flags = MAP_SHARED;
	}
	s->mem = map_aligned(s->len, PROT_READ | PROT_WRITE, flags, s->fd);
	CHECK(s->mem != MAP_FAILED);
	fill_in_order(s);
	CHECK(folios_are(s->mem, s->len, s->kib));
	return true;
}

/* By address, or, where that would make neighbours of them, as they are on the LRU. */
static bool reclaim(const struct scene *s)
{
	return is_shuffled(s) ? ahead_reclaim(s, 8) : ahead_page_out(s);
}

/* Reclaims memory that was made, with the busy thread.  @listed: how many folios were listed. */
static bool reclaim_listed(struct scene *s, long long *listed)
{
	bool done;

	*listed = -unmap_stat(LISTED);
	CHECK(start_busy());
	done = reclaim(s);
	end_busy();
	*listed += unmap_stat(LISTED);
	return done;
}

bool list_all(struct scene *s)
{
	const long folios = LEN / (s->kib * KIB);
	long long listed;

	CHECK(list_make(s));
	CHECK(reclaim_listed(s, &listed));
	CHECK_EQ(0, outcome->there);
	if (ahead_is_on())
		CHECK(listed >= folios / 2 && listed <= folios + OWN);
	CHECK_EQ(0, ahead_wrong(s));
	/* And once more, from the swap cache. */
	CHECK(reclaim_listed(s, &listed));
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/* A child maps all pages, too: the loop of reclaim has to unmap each twice. */
static bool in_child(const struct scene *s, int go)
{
	char token;

	return !read(go, &token, 1) && !ahead_wrong(s);
}

bool list_shared(struct scene *s)
{
	int go[2], status = -1;
	long long listed;
	pid_t child;

	CHECK(list_make(s));
	CHECK(!pipe(go));
	fflush(stdout);
	child = fork();
	if (!child) {
		close(go[1]);
		for (long i = 0; s->fd >= 0 && i < PAGES; i++)
			READ_ONCE(s->mem[i * PAGE]);
		kill(getpid(), SIGSTOP);
		_exit(!in_child(s, go[0]));
	}
	CHECK(child > 0 && waitpid(child, &status, WUNTRACED) == child);
	CHECK(reclaim_listed(s, &listed));
	if (ahead_is_on())
		CHECK(listed <= OWN);
	CHECK(!kill(child, SIGCONT));
	close(go[1]);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(0, status);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/* Hot pages are not taken, and get no swap entries. */
static bool hot_listed(struct scene *s, ahead_job make)
{
	long long listed = -unmap_stat(LISTED);
	bool done;

	CHECK(list_make(s));
	CHECK(start_busy());
	done = hot_rounds(s, make);
	end_busy();
	CHECK(done);
	listed += unmap_stat(LISTED);
	printf("# %lld folios listed, %ld in use got swap entries\n", listed, outcome->wasted);
	CHECK(!ahead_is_on() || listed > HOT / 2);
	CHECK(outcome->wasted <= HOT / 8);
	return true;
}

bool list_hot(struct scene *s)
{
	return hot_listed(s, NULL);
}

/* A page that was swapped out before has its entry already: have new memory in each round. */
bool list_hot_anew(struct scene *s)
{
	return hot_listed(s, list_make);
}
