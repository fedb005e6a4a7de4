// SPDX-License-Identifier: GPL-2.0-only
/* How long a fault waits for a folio that reclaim has locked: see ahead.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "ahead.h"

/*
 * In each round reclaim goes through all pages, and a thread touches them meanwhile, each
 * page once.  A round's longest touch is noted; the median of the rounds is what counts,
 * because a busy host stops a guest at any time.
 */
#define ROUNDS	21

struct waits *waits;

__attribute__((constructor)) static void share_waits(void)
{
	waits = mmap(NULL, 2 * sizeof(*waits), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

struct toucher {
	const struct scene *s;
	double longest;
	bool ready;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *touch_all(void *arg)
{
	struct toucher *toucher = arg;
	double began, took;

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	WRITE_ONCE(toucher->ready, true);
	for (long i = 0; i < PAGES; i++) {
		began = now();
		READ_ONCE(toucher->s->mem[i * PAGE]);
		took = now() - began;
		toucher->longest = took > toucher->longest ? took : toucher->longest;
	}
	return NULL;
}

/* A lazyfree page that was reclaimed is the zero page. */
static bool fill_again(const struct scene *s)
{
	if (s->kind != LAZYFREE)
		return !madvise(s->mem, LEN, MADV_POPULATE_READ);
	fill(s->mem, LEN, SEED);
	return !madvise(s->mem, LEN, MADV_FREE);
}

/* One round.  Returns the longest touch, and by @page what reclaim took for a page. */
static bool one_round(const struct scene *s, double *longest, double *page)
{
	struct toucher toucher = { .s = s };
	pthread_t thread;
	double began;

	CHECK(fill_again(s));
	CHECK(!pthread_create(&thread, NULL, touch_all, &toucher));
	while (!READ_ONCE(toucher.ready))
		;
	began = now();
	CHECK(!madvise(s->mem, LEN, MADV_PAGEOUT));
	*page = (now() - began) / PAGES;
	pthread_join(thread, NULL);
	*longest = toucher.longest;
	return true;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

bool measure_waits(struct scene *s)
{
	double longest[ROUNDS], page[ROUNDS];

	CHECK(ahead_make(s));
	for (int i = 0; i < ROUNDS; i++)
		CHECK(one_round(s, &longest[i], &page[i]));
	qsort(longest, ROUNDS, sizeof(*longest), compare);
	qsort(page, ROUNDS, sizeof(*page), compare);
	waits[ahead_is_on()].median_longest = longest[ROUNDS / 2];
	waits[ahead_is_on()].page = page[ROUNDS / 2];
	return true;
}
