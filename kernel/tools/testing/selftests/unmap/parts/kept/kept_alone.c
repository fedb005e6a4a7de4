// SPDX-License-Identifier: GPL-2.0-only
/*
 * MADV_DONTNEED with only the lock of the VMA, while other threads hold the mmap lock: see kept.h.
 *
 * Two threads fault and discard in the same tables.  Each knows what its page of each table must
 * hold.  The first one also discards whole tables, or maps them anew, and with them the page of
 * the second one: a turn.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kept.h"

#define RACED		16	/* tables */
#define SECONDS		2
#define FIRST		(3 * PAGE)
#define SECOND		(300 * PAGE)

/* @turn: the table's turns when the stamp was stored */
struct racer {
	pthread_t thread;
	char *pages;
	unsigned int seed;
	bool stop;
	long rounds, wrong;
	unsigned long count, stamp[RACED], turn[RACED];
};

/* Turns begun and ended: odd during one. */
static unsigned long turns[RACED];

static unsigned long load(const void *word)
{
	return __atomic_load_n((const unsigned long *)word, __ATOMIC_ACQUIRE);
}

static void store(struct racer *r, long table)
{
	r->turn[table] = load(&turns[table]);
	r->stamp[table] = ++r->count;
	WRITE_ONCE(*(unsigned long *)(r->pages + table * PMD), r->count);
}

/* The stamp must be there, unless a turn may have discarded the second thread's page. */
static void expect(struct racer *r, long table)
{
	unsigned long seen = load(r->pages + table * PMD), turn = load(&turns[table]);

	if (turn % 2 || turn != r->turn[table])
		return;
	if (seen != r->stamp[table] && !r->wrong++)
		printf("# table %ld: %lu instead of %lu\n", table, seen, r->stamp[table]);
}

static void *race_second(void *arg)
{
	struct racer *r = arg;

	use_cpu(1);
	for (; !READ_ONCE(r->stop); r->rounds++) {
		long table = r->rounds % RACED;

		expect(r, table);
		store(r, table);
		if (rand_r(&r->seed) % 2)
			continue;
		r->wrong += !!madvise(r->pages + table * PMD, PAGE, MADV_DONTNEED);
		r->stamp[table] = 0;
	}
	return NULL;
}

/* All but the page of the second thread. */
static bool discard_around(char *table)
{
	return !madvise(table, SECOND, MADV_DONTNEED) &&
	       !madvise(table + SECOND + PAGE, PMD - SECOND - PAGE, MADV_DONTNEED);
}

static bool map_anew(char *table)
{
	return mmap(table, PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_NORESERVE | MAP_FIXED, -1, 0) == table;
}

static bool race_first(struct racer *r, long table, int what)
{
	char *mem = r->pages - FIRST + table * PMD;
	bool done;

	r->turn[table] = turns[table];
	expect(r, table);
	store(r, table);
	expect(r, table);
	if (what < 2)
		return true;
	r->stamp[table] = 0;
	if (what < 5)
		return discard_around(mem);
	__atomic_fetch_add(&turns[table], 1, __ATOMIC_SEQ_CST);
	done = what < 7 ? !madvise(mem, PMD, MADV_DONTNEED) : map_anew(mem);
	__atomic_fetch_add(&turns[table], 1, __ATOMIC_SEQ_CST);
	return done;
}

static bool race(struct racer *first, struct racer *second)
{
	time_t end = time(NULL) + SECONDS;
	bool done = true;

	printf("# seed %u\n", first->seed);
	CHECK(!pthread_create(&second->thread, NULL, race_second, second));
	/* On a busy machine, some rounds may take longer. */
	for (; done && (time(NULL) < end || first->rounds < 200); first->rounds++)
		done = race_first(first, rand_r(&first->seed) % RACED, rand_r(&first->seed) % 8);
	WRITE_ONCE(second->stop, true);
	pthread_join(second->thread, NULL);
	CHECK(done);
	CHECK_EQ(0, first->wrong + second->wrong);
	printf("# %ld and %ld rounds\n", first->rounds, second->rounds);
	return true;
}

/* Half tables: these are recorded if the mmap lock cannot be had. */
static bool discard_halves(char *mem)
{
	for (size_t at = 0; at < RACED * PMD; at += PMD / 2)
		CHECK(!madvise(mem + at, PMD / 2, MADV_DONTNEED));
	return true;
}

bool alone_job(struct scene *scene)
{
	const struct alone *alone = (const struct alone *)scene;
	struct crowd crowd = { .fd = -1 };
	struct racer first = { .seed = time(NULL) }, second = { .seed = first.seed + 1 };
	bool done;

	CHECK(crowd_make(&crowd));
	CHECK(!madvise(crowd.mem, LEN, MADV_DONTNEED));
	first.pages = crowd.mem + FIRST;
	second.pages = crowd.mem + SECOND;
	CHECK(crowd_go(&crowd));
	done = race(&first, &second) && discard_halves(crowd.mem);
	busy_end();
	/* The second thread's stack has one more table. */
	return done && (!alone->on || fall_to(getpid(), crowd.empty + 1 + SLACK));
}
