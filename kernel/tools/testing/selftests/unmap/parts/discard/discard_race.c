// SPDX-License-Identifier: GPL-2.0-only
/* Discarding while a thread on another CPU uses the memory: see discard.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "discard.h"

#define SECONDS		2

struct toucher {
	pthread_t thread;
	char *mem;
	bool *stop;
	unsigned long gone;	/* the last stamp that was discarded */
	long wrong, rounds;
	bool writes;
};

bool second_cpu(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

/* A page must read as this thread wrote it, or as zero: no other thread writes. */
static void *write_stamps(void *arg)
{
	struct toucher *toucher = arg;

	use_cpu(1);
	for (; !READ_ONCE(*toucher->stop); toucher->rounds++) {
		unsigned long stamp = toucher->rounds + 1;

		for (long i = 0; i < PAGES; i++) {
			unsigned long *at = (unsigned long *)(toucher->mem + i * PAGE), seen;

			WRITE_ONCE(*at, stamp);
			seen = READ_ONCE(*at);
			toucher->wrong += seen && seen != stamp;
		}
	}
	return NULL;
}

/* No page may hold a stamp that was discarded before. */
static void *read_stamps(void *arg)
{
	struct toucher *toucher = arg;

	use_cpu(1);
	for (; !READ_ONCE(*toucher->stop); toucher->rounds++) {
		unsigned long gone = __atomic_load_n(&toucher->gone, __ATOMIC_ACQUIRE), seen;

		for (long i = 0; i < 16; i++) {
			seen = READ_ONCE(*(unsigned long *)(toucher->mem + i * PAGE));
			toucher->wrong += seen && seen <= gone;
		}
	}
	return NULL;
}

/* Discard until time is over and the other thread has run; returns the number of rounds. */
static long discard_stamped(struct toucher *toucher)
{
	long rounds = 0;

	for (time_t end = time(NULL) + SECONDS; time(NULL) < end || toucher->rounds < 4; rounds++) {
		unsigned long stamp = rounds + 1;

		for (long i = 0; i < 16 && !toucher->writes; i++)
			WRITE_ONCE(*(unsigned long *)(toucher->mem + i * PAGE), stamp);
		if (!discard_pages(toucher->mem, 0, toucher->writes ? PAGES : 16))
			return -1;
		__atomic_store_n(&toucher->gone, stamp, __ATOMIC_RELEASE);
	}
	return rounds;
}

static bool with_toucher(char *mem, bool writes)
{
	bool stop = false;
	struct toucher toucher = { .mem = mem, .stop = &stop, .writes = writes };
	long rounds;

	CHECK(!pthread_create(&toucher.thread, NULL, writes ? write_stamps : read_stamps,
			      &toucher));
	rounds = discard_stamped(&toucher);
	WRITE_ONCE(stop, true);
	pthread_join(toucher.thread, NULL);
	CHECK(rounds > 0);
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
