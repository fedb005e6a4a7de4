// SPDX-License-Identifier: GPL-2.0-only
/* Stores that other CPUs must see at once: see ahead.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"

/*
 * A page was unmapped ahead and unlocked, and reclaim, which sleeps then, has not come to it yet.
 * A thread stores to it, and so gets a page of its own: a copy of a file's page, or a new page in
 * the place of one that was lazyfree.  Then a thread on another CPU, whose TLB knows the old
 * page, reads: it must see the store.
 */
#define AT		(5 * PAGE)	/* a successor in the first stretch */
#define STORED		0x5a
#define LONG_WINDOW	200000		/* us: reclaim sleeps so long when it has unlocked them */

struct stale {
	const struct scene *s;
	pthread_t storer, reader;
	long long before;	/* windows; -1: not yet */
	bool reads, stored, over, met;
	char seen;
};

/* Store when reclaim has opened the window. */
static void *store_in_window(void *arg)
{
	struct stale *stale = arg;

	use_cpu(0);
	while (__atomic_load_n(&stale->before, __ATOMIC_ACQUIRE) < 0)
		sched_yield();
	while (!stale->met && !__atomic_load_n(&stale->over, __ATOMIC_ACQUIRE))
		stale->met = windows_opened() > stale->before;
	WRITE_ONCE(stale->s->mem[AT], STORED);
	__atomic_store_n(&stale->stored, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Reads all the time: a CPU that was idle flushes its TLB when it is used again. */
static void *keep_reading(void *arg)
{
	struct stale *stale = arg;
	bool stored;

	use_cpu(1);
	do {
		stored = __atomic_load_n(&stale->stored, __ATOMIC_ACQUIRE);
		stale->seen = READ_ONCE(stale->s->mem[AT]);
		__atomic_store_n(&stale->reads, true, __ATOMIC_RELEASE);
		cpu_relax();
	} while (!stored);
	return NULL;
}

static bool page_out_in_window(struct stale *stale)
{
	const struct scene *s = stale->s;
	bool done;

	while (!__atomic_load_n(&stale->reads, __ATOMIC_ACQUIRE))
		sched_yield();
	table_window(LONG_WINDOW);
	__atomic_store_n(&stale->before, windows_opened(), __ATOMIC_RELEASE);
	done = !madvise(s->mem, STRETCH * PAGE, MADV_PAGEOUT);
	__atomic_store_n(&stale->over, true, __ATOMIC_RELEASE);
	table_window(0);
	return done;
}

static bool reclaim_with_threads(struct stale *stale)
{
	bool done;

	CHECK(!pthread_create(&stale->reader, NULL, keep_reading, stale));
	CHECK(!pthread_create(&stale->storer, NULL, store_in_window, stale));
	done = page_out_in_window(stale);
	pthread_join(stale->storer, NULL);
	pthread_join(stale->reader, NULL);
	CHECK(done);
	CHECK(stale->met);
	CHECK_EQ(STORED, stale->seen);
	return true;
}

/* Nothing is copied yet. */
static bool map_privately(const struct scene *s)
{
	CHECK(mmap(s->mem, s->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, s->fd, 0) ==
	      s->mem);
	CHECK(!madvise(s->mem, s->len, MADV_POPULATE_READ));
	return true;
}

bool stale_read(struct scene *s)
{
	struct stale stale = { .s = s, .before = -1 };

	CHECK(ahead_make(s));
	CHECK(s->kind != FILE_SHARED || map_privately(s));
	return reclaim_with_threads(&stale);
}
