// SPDX-License-Identifier: GPL-2.0-only
/* Discarding while a thread on another CPU uses the memory: see discard.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "discard.h"

#define ROUNDS		50	/* of either thread, at least */
#define STAMPED		16L	/* pages that are stamped and discarded for a reader */

struct toucher {
	pthread_t thread;
	char *mem;
	bool *stop;
	unsigned long seen;	/* the last stamp that was read from all pages in one round */
	unsigned long gone;	/* the last stamp that was discarded */
	long wrong, rounds;
};

bool second_cpu(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

static unsigned long *stamp_of(char *mem, long page)
{
	return (unsigned long *)(mem + page * PAGE);
}

/* A page must read as this thread wrote it, or as zero: no other thread writes. */
static void *write_stamps(void *arg)
{
	struct toucher *toucher = arg;

	use_cpu(1);
	for (; !READ_ONCE(*toucher->stop); WRITE_ONCE(toucher->rounds, toucher->rounds + 1)) {
		unsigned long stamp = toucher->rounds + 1;

		for (long i = 0; i < PAGES; i++) {
			unsigned long *at = stamp_of(toucher->mem, i), seen;

			WRITE_ONCE(*at, stamp);
			seen = READ_ONCE(*at);
			toucher->wrong += seen && seen != stamp;
		}
	}
	return NULL;
}

/* Read the stamps once; returns how many pages are zero, and counts those with another stamp. */
static long count_zero(char *mem, unsigned long stamp, long *wrong)
{
	long zero = 0;

	for (long i = 0; i < STAMPED; i++) {
		unsigned long seen = READ_ONCE(*stamp_of(mem, i));

		*wrong += seen && seen != stamp;
		zero += !seen;
	}
	return zero;
}

/*
 * No page may hold a stamp that was discarded before, or what a freed page was filled with.
 *
 * The thread reads all other pages of the table, too, which stay.  QEMU makes the TLB of a program
 * that uses few pages so small that it flushes all of it where arm64 flushes one address; and with
 * the last page the table would go, whose flush is of all addresses.
 */
static void *read_stamps(void *arg)
{
	struct toucher *toucher = arg;

	use_cpu(1);
	for (; !READ_ONCE(*toucher->stop); WRITE_ONCE(toucher->rounds, toucher->rounds + 1)) {
		unsigned long next = __atomic_load_n(&toucher->gone, __ATOMIC_ACQUIRE) + 1;

		if (!count_zero(toucher->mem, next, &toucher->wrong))
			__atomic_store_n(&toucher->seen, next, __ATOMIC_RELEASE);
		for (long i = STAMPED; i < PAGES; i++)
			READ_ONCE(*stamp_of(toucher->mem, i));
	}
	return NULL;
}

/* What a reader has found is enough: it may go on reading the old pages. */
static bool goes_on(const struct toucher *toucher)
{
	cpu_relax();
	return !READ_ONCE(toucher->wrong);
}

/* Discard pages whose translations the reader has just used, and let it read them again. */
static bool discard_read(struct toucher *toucher)
{
	for (unsigned long stamp = 1; stamp <= ROUNDS; stamp++) {
		long rounds, wrong = 0;

		for (long i = 0; i < STAMPED; i++)
			WRITE_ONCE(*stamp_of(toucher->mem, i), stamp);
		while (__atomic_load_n(&toucher->seen, __ATOMIC_ACQUIRE) != stamp)
			CHECK(goes_on(toucher));
		CHECK(discard_pages(toucher->mem, 0, STAMPED));
		/* This processor's TLB, too; or the next stamps go to the old pages. */
		CHECK_EQ(STAMPED, count_zero(toucher->mem, 0, &wrong));
		rounds = READ_ONCE(toucher->rounds);
		__atomic_store_n(&toucher->gone, stamp, __ATOMIC_RELEASE);
		/* The round that runs may have begun before. */
		while (READ_ONCE(toucher->rounds) < rounds + 2)
			CHECK(goes_on(toucher));
	}
	return true;
}

static bool discard_written(struct toucher *toucher)
{
	for (long rounds = 0; rounds < ROUNDS || READ_ONCE(toucher->rounds) < ROUNDS; rounds++)
		CHECK(discard_pages(toucher->mem, 0, PAGES));
	return true;
}

static bool with_toucher(char *mem, bool writes)
{
	bool stop = false;
	struct toucher toucher = { .mem = mem, .stop = &stop };
	bool discarded;

	use_cpu(0);
	CHECK(discard_pages(mem, 0, writes ? PAGES : STAMPED));
	CHECK(!pthread_create(&toucher.thread, NULL, writes ? write_stamps : read_stamps,
			      &toucher));
	discarded = writes ? discard_written(&toucher) : discard_read(&toucher);
	WRITE_ONCE(stop, true);
	pthread_join(toucher.thread, NULL);
	CHECK(discarded);
	CHECK_EQ(0, toucher.wrong);
	return true;
}

bool discard_while_storing(char *mem)
{
	return with_toucher(mem, true);
}

bool discard_while_reading(char *mem)
{
	return with_toucher(mem, false);
}
