// SPDX-License-Identifier: GPL-2.0-only
/* Swap that is full, limited, or taken away: see ahead.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ahead.h"

#define HALF_OF_IT	(LEN / 2)
#define TURNS		8	/* each kind of use_pages(), twice */

static long count_swapped(void)
{
	long swapped = 0;

	for (long i = 0; i < PAGES; i++)
		swapped += outcome->fate[i] == SWAPPED;
	return swapped;
}

/* Notes how many pages went to swap.  If a slot leaked, swapoff would not end. */
static bool fill_swap(struct scene *s)
{
	long long free = swap_free_pages();

	CHECK(free < PAGES);
	CHECK(ahead_make(s));
	for (int i = 0; i < 3; i++) {
		CHECK(ahead_page_out(s));
		outcome->note = count_swapped();
		CHECK(outcome->note > 0 && outcome->note <= free);
		CHECK(outcome->there >= PAGES - free);
		CHECK_EQ(0, ahead_wrong(s));
	}
	munmap(s->mem, LEN);
	return true;
}

bool swap_full(struct scene *s)
{
	bool done;

	CHECK(swap_only(HALF_OF_IT));
	done = fill_swap(s);
	CHECK(swap_back());
	return done;
}

/*
 * A control group's limit of swap.  Notes how often the group was refused: a failure must not
 * count once for the look ahead and once again for the page's turn.
 */
bool swap_limit(struct scene *s)
{
	long long fails = cgroup_read("memory.swap.events", "fail ");
	bool done;

	CHECK(fails >= 0);
	CHECK(ahead_make(s));
	CHECK(cgroup_write("memory.swap.max", "1048576"));
	done = ahead_page_out(s);
	done &= cgroup_read("memory.swap.current", "") <= (long long)MIB;
	outcome->note = cgroup_read("memory.swap.events", "fail ") - fails;
	CHECK(cgroup_write("memory.swap.max", "max"));
	CHECK(done);
	CHECK(outcome->there >= PAGES / 2 && count_swapped() > PAGES / 4);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/*
 * Pages come back, by a read, a write, or in a child, while reclaim goes through its list.
 * Then swapoff must find the user of each slot.
 */
struct loop {
	const struct scene *s;
	pthread_t thread;
	bool stop;
};

static void *page_out(void *arg)
{
	struct loop *loop = arg;

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	while (!READ_ONCE(loop->stop))
		madvise(loop->s->mem, LEN, MADV_PAGEOUT);
	return NULL;
}

static bool use_in_child(const struct scene *s)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		long wrong = ahead_wrong(s);

		for (long i = 0; s->kind == ANON && i < PAGES; i += 5)
			s->mem[i * PAGE] = 0;
		_exit(!!wrong);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(0, status);
	return true;
}

/* Each fourth time the slots of a part are freed, and used again. */
static bool use_pages(const struct scene *s, int turn)
{
	CHECK_EQ(0, ahead_wrong(s));
	if (turn % 4 == 0)
		CHECK(use_in_child(s));
	for (long i = turn % 7; i < PAGES; i += 7) {
		if (turn % 4 == 1)
			madvise(s->mem + i * PAGE, PAGE, MADV_DONTNEED);
		memset(s->mem + i * PAGE, fill_byte(i, SEED), PAGE);
	}
	return true;
}

static bool use_while_reclaimed(struct scene *s)
{
	struct loop loop = { .s = s };
	bool done = true;

	CHECK(ahead_make(s));
	CHECK(!pthread_create(&loop.thread, NULL, page_out, &loop));
	for (int turn = 0; done && turn < TURNS; turn++)
		done = use_pages(s, turn);
	WRITE_ONCE(loop.stop, true);
	pthread_join(loop.thread, NULL);
	CHECK(done);
	madvise(s->mem, LEN, MADV_PAGEOUT);
	return true;
}

bool swap_used(struct scene *s)
{
	bool done;

	CHECK(swap_only(8 * LEN));
	done = use_while_reclaimed(s);
	CHECK(swap_back());
	CHECK(done);
	CHECK_EQ(0, count_pages(s->mem, LEN, PM_SWAP));
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}
