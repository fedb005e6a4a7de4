// SPDX-License-Identifier: GPL-2.0-only
/* Stores that must reach the file: see ahead.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"

/*
 * A thread stores to all pages through its warm TLB, and starts writeback between two passes.
 * If reclaim cleared a dirty entry, and gave the folio back before it flushed the TLB, writeback
 * found nothing mapped, and nothing made the folio dirty again: the last store is lost.
 */
#define STORED		(2 * STRETCH)	/* pages */
#define ROUNDS		12
#define WAIT		3000		/* us */
#define STORE_WINDOW	300		/* us */

struct storer {
	const struct scene *s;
	pthread_t thread;
	long value;
	bool stop;
};

static void *store(void *arg)
{
	struct storer *storer = arg;
	const struct scene *s = storer->s;

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	while (!READ_ONCE(storer->stop)) {
		storer->value++;
		for (long i = 0; i < STORED; i++)
			WRITE_ONCE(*(long *)(s->mem + i * PAGE), storer->value);
		if (storer->value % 8 == 0)
			sync_file_range(s->fd, 0, STORED * PAGE, SYNC_FILE_RANGE_WRITE);
	}
	return NULL;
}

static bool store_and_reclaim(struct storer *storer)
{
	const struct scene *s = storer->s;
	long before = storer->value;

	storer->stop = false;
	CHECK(!pthread_create(&storer->thread, NULL, store, storer));
	/* On a busy host it begins late: before it has stored, the file has what it had. */
	do {
		usleep(WAIT);
	} while (READ_ONCE(storer->value) == before);
	madvise(s->mem, STORED * PAGE, MADV_PAGEOUT);
	WRITE_ONCE(storer->stop, true);
	pthread_join(storer->thread, NULL);
	return true;
}

/* Dropping caches empties the LRU batches of all CPUs, too. */
static bool drop_file(const struct scene *s, size_t len)
{
	CHECK(!fsync(s->fd));
	for (int i = 0; i < 20 && count_pages(s->mem, len, PM_PRESENT); i++) {
		drop_caches();
		madvise(s->mem, len, MADV_PAGEOUT);
	}
	CHECK_EQ(0, count_pages(s->mem, len, PM_PRESENT));
	drop_caches();
	return true;
}

/* What the file has. */
static bool file_has_last(const struct storer *storer)
{
	const struct scene *s = storer->s;
	long seen;

	CHECK(drop_file(s, STORED * PAGE));
	for (long i = 0; i < STORED; i++) {
		CHECK(pread(s->fd, &seen, sizeof(seen), i * PAGE) == sizeof(seen));
		CHECK_EQ(storer->value, seen);
	}
	return true;
}

bool lost_store(struct scene *s)
{
	struct storer storer = { .s = s };

	CHECK(ahead_make(s));
	table_window(STORE_WINDOW);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(store_and_reclaim(&storer));
		CHECK(file_has_last(&storer));
	}
	return true;
}

/* Reclaim of pages that are being written. */
bool lost_writeback(struct scene *s)
{
	CHECK(ahead_make(s));
	for (unsigned char round = 1; round < 8; round++) {
		fill(s->mem, LEN, SEED + round);
		CHECK(!sync_file_range(s->fd, 0, LEN, SYNC_FILE_RANGE_WRITE));
		CHECK(!madvise(s->mem, LEN, MADV_PAGEOUT));
		CHECK(drop_file(s, LEN));
		CHECK_EQ(0, count_wrong(s->mem, LEN, SEED + round));
	}
	return true;
}
