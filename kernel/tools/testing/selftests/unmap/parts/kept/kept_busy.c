// SPDX-License-Identifier: GPL-2.0-only
/* A process whose threads hold its mmap lock: see kept.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kept.h"

/* Two threads: one holds the mmap lock for writing, the other one waits for it. */

#define BUSY_LEN	(128 * MIB)

static struct {
	pthread_t threads[2];
	char *mem;
	bool stop;
	long rounds[2];	/* how often either thread had the lock */
} busy;

static void *keep_lock(void *arg)
{
	long *rounds = arg;
	int prot = PROT_READ;

	while (!READ_ONCE(busy.stop)) {
		mprotect(busy.mem, BUSY_LEN, prot);
		prot ^= PROT_WRITE;
		WRITE_ONCE(*rounds, *rounds + 1);
	}
	return NULL;
}

static bool busy_begin(void)
{
	CHECK(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	busy.mem = map_tables(BUSY_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	busy.stop = false;
	busy.rounds[0] = 0;
	busy.rounds[1] = 0;
	CHECK(busy.mem != MAP_FAILED);
	/* Reading maps the zero page, which takes no memory. */
	for (size_t at = 0; at < BUSY_LEN; at += PAGE)
		READ_ONCE(busy.mem[at]);
	return true;
}

bool busy_goes_on(long rounds)
{
	long first = rounds + READ_ONCE(busy.rounds[0]);
	long second = rounds + READ_ONCE(busy.rounds[1]);

	AWAIT(READ_ONCE(busy.rounds[0]) >= first && READ_ONCE(busy.rounds[1]) >= second);
	return true;
}

bool crowd_go(struct crowd *crowd)
{
	long long before = tables_of(getpid());

	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&busy.threads[i], NULL, keep_lock, &busy.rounds[i]));
	CHECK(busy_goes_on(1));
	/* Those of the stacks, with upper levels if a stack is the first in its GiB. */
	crowd->empty += tables_of(getpid()) - before;
	return true;
}

void busy_end(void)
{
	WRITE_ONCE(busy.stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(busy.threads[i], NULL);
}

bool crowd_make(struct crowd *crowd)
{
	int flags = crowd->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	CHECK(busy_begin());
	crowd->mem = map_tables(LEN, flags, crowd->fd);
	CHECK(crowd->mem != MAP_FAILED);
	fill_tables(crowd->mem, LEN);
	/* VmPTE counts all levels; the upper ones stay, two of them if @mem crosses a GiB. */
	crowd->empty = tables_of(getpid()) - NR_TABLES;
	return true;
}

void crowd_job(struct child *child, void *arg)
{
	struct crowd *crowd = arg;
	bool done = crowd_make(crowd);

	if (done && crowd->fd < 0)
		done = !madvise(crowd->mem, LEN, MADV_FREE);
	done = done && crowd_go(crowd);
	if (!done)
		_exit(1);
	usleep(100000);
	child_done(child);
	/* Other processes have emptied the tables meanwhile; the worker may have got the lock. */
	busy_end();
	if (!fall_to(getpid(), crowd->empty + SLACK))
		_exit(1);
	child_done(child);
}
