// SPDX-License-Identifier: GPL-2.0-only
/*
 * Others take tables, or what they map, while they are dropped: holes are punched in the file, or
 * huge pages take the place of its pages.  See drop.h.
 *
 * One thread writes, takes, and checks; another one writes to pages that no hole touches, all the
 * time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drop.h"

#define MAPPINGS	4L
#define HOLES		448L	/* pages in which holes are punched; the writer has the others */
#define STEP		7L	/* pages: only so many are looked at, in folios of each size */
#define ENOUGH		8	/* times that tables are taken, on a busy host, too */
#define STORES		64	/* of the writer to its pages, before it looks at them */

struct taken {
	int fd;
	char *mem;
	unsigned int random;
	unsigned char turn, pages[HOLES];	/* what each page holds */
	bool stop, failed;
	pthread_t writer;
};

static char *some_place(struct taken *t, unsigned int *random, long page)
{
	return t->mem + rand_r(random) % MAPPINGS * LEN + page * PAGE;
}

/* All of a page, as far as one can tell from both ends. */
static void put(char *page, unsigned char byte)
{
	WRITE_ONCE(page[0], byte);
	WRITE_ONCE(page[PAGE - 1], byte);
}

static bool holds(const char *page, unsigned char byte)
{
	CHECK_EQ(byte, (unsigned char)READ_ONCE(page[0]));
	CHECK_EQ(byte, (unsigned char)READ_ONCE(page[PAGE - 1]));
	return true;
}

/* Through one mapping again and again: stores that the TLB alone translates would be lost. */
static bool write_and_look(struct taken *t, unsigned int *random)
{
	char *map = some_place(t, random, 0);
	unsigned char byte = rand_r(random);

	for (int i = 0; i < STORES; i++)
		for (long page = HOLES; page < PAGES; page += STEP)
			put(map + page * PAGE, byte + i);
	for (long page = HOLES; page < PAGES; page += STEP)
		CHECK(holds(some_place(t, random, page), byte + STORES - 1));
	return true;
}

static void *keep_writing(void *arg)
{
	struct taken *t = arg;
	unsigned int random = 1;

	use_cpu(1 % sysconf(_SC_NPROCESSORS_ONLN));
	while (!READ_ONCE(t->stop) && !t->failed)
		t->failed = !write_and_look(t, &random);
	return NULL;
}

static void write_all(struct taken *t)
{
	t->turn++;
	for (long i = 0; i < HOLES; i += STEP) {
		t->pages[i] = t->turn;
		put(some_place(t, &t->random, i), t->turn);
	}
}

/* Through all mappings, so that each has a table. */
static bool check_all(const struct taken *t)
{
	for (long map = 0; map < MAPPINGS; map++)
		for (long i = 0; i < HOLES; i += STEP)
			CHECK(holds(t->mem + map * LEN + i * PAGE, t->pages[i]));
	return true;
}

static bool punch(struct taken *t, long first, long nr)
{
	for (long i = first; i < first + nr; i++)
		t->pages[i] = 0;
	return !fallocate(t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first * PAGE,
			  nr * PAGE);
}

/* Nearly all that a table maps, or any part. */
static bool take_by_hole(struct taken *t)
{
	long first = rand_r(&t->random) % 2 * (rand_r(&t->random) % HOLES);

	return punch(t, first, HOLES - first);
}

static bool take_by_collapse(struct taken *t)
{
	/* A hole splits the huge page that was there; tables map its pages then. */
	CHECK(punch(t, rand_r(&t->random) % HOLES, 1));
	CHECK(check_all(t));
	return !madvise(some_place(t, &t->random, 0), LEN, MADV_COLLAPSE);
}

/* Returns how often tables were taken; -1: something was wrong. */
static long keep_taking(struct taken *t, bool (*take)(struct taken *t))
{
	long times = 0;

	while (race_goes_on(RACE_TABLES) || times < ENOUGH) {
		write_all(t);
		if (!check_all(t))
			return -1;
		times += take(t);
		if (!check_all(t))
			return -1;
	}
	return times;
}

static bool race(struct scene *scene, bool (*take)(struct taken *t))
{
	struct taken t = { .fd = drop_file(scene), .random = 1 };
	long times;

	t.mem = map_file(t.fd, MAPPINGS, MAP_SHARED);
	CHECK(t.mem != MAP_FAILED && pad_tables(COPIES));
	CHECK(dropping_start());
	CHECK(!pthread_create(&t.writer, NULL, keep_writing, &t));
	times = keep_taking(&t, take);
	WRITE_ONCE(t.stop, true);
	pthread_join(t.writer, NULL);
	dropping_stop();
	printf("# taken %ld times\n", times);
	return times >= 0 && !t.failed;
}

bool race_punched(struct scene *scene)
{
	return race(scene, take_by_hole);
}

bool race_collapsed(struct scene *scene)
{
	return race(scene, take_by_collapse);
}
