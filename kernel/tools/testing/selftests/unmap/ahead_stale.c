// SPDX-License-Identifier: GPL-2.0-only
/* Stores that other CPUs must see at once: see ahead.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"

/*
 * A page was unmapped ahead and unlocked, and reclaim has not come to it yet.  A thread on another
 * CPU stores to it, and so gets a page of its own: a copy of a file's page, or a new page in the
 * place of one that was lazyfree.  Then a thread on reclaim's CPU, whose TLB knows the old page,
 * reads: it must see the store.
 */
#define AT		(5 * PAGE)	/* a successor in the first stretch */
#define STORED		0x5a
#define LONG_WINDOW	200000		/* us: reclaim sleeps so long when it has unlocked them */

struct stale {
	const struct scene *s;
	pthread_t storer, reader;
	long long before;	/* windows */
	int to_reader[2];
	bool over, met;
	char seen;
};

/* Store when reclaim has opened the window. */
static void *store_in_window(void *arg)
{
	struct stale *stale = arg;

	use_cpu(1);
	while (!stale->met && !__atomic_load_n(&stale->over, __ATOMIC_ACQUIRE))
		stale->met = windows_opened() > stale->before;
	WRITE_ONCE(stale->s->mem[AT], STORED);
	close(stale->to_reader[1]);
	return NULL;
}

static void *read_after_store(void *arg)
{
	struct stale *stale = arg;
	char none;

	use_cpu(0);
	if (!read(stale->to_reader[0], &none, 1))
		stale->seen = READ_ONCE(stale->s->mem[AT]);
	return NULL;
}

static bool reclaim_with_threads(struct stale *stale)
{
	const struct scene *s = stale->s;

	CHECK(!pipe(stale->to_reader));
	CHECK(!pthread_create(&stale->reader, NULL, read_after_store, stale));
	stale->before = windows_opened();
	CHECK(!pthread_create(&stale->storer, NULL, store_in_window, stale));
	/* This CPU's TLB has the page now. */
	CHECK(READ_ONCE(s->mem[AT]) != STORED);
	CHECK(!madvise(s->mem, STRETCH * PAGE, MADV_PAGEOUT));
	__atomic_store_n(&stale->over, true, __ATOMIC_RELEASE);
	pthread_join(stale->storer, NULL);
	pthread_join(stale->reader, NULL);
	close(stale->to_reader[0]);
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
	struct stale stale = { .s = s };
	bool right;

	CHECK(ahead_make(s));
	CHECK(s->kind != FILE_SHARED || map_privately(s));
	table_window(LONG_WINDOW);
	right = reclaim_with_threads(&stale);
	table_window(0);
	return right;
}
