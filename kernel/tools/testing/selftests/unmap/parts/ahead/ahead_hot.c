// SPDX-License-Identifier: GPL-2.0-only
/* Pages that are in use are not evicted ahead of their turn: see ahead.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"

#define PORTION		(64 * PAGE)
#define ROUNDS		6	/* less than all cold pages */
#define LONGEST		60	/* seconds, until reclaim has evicted a page */
#define LONG_WINDOW	60000	/* us: aging looks at the whole process meanwhile */

static void use_hot(const char *mem)
{
	for (long i = EVERY_HOT / 2; i < PAGES; i += EVERY_HOT)
		READ_ONCE(mem[i * PAGE]);
}

static long count_hot_lost(const char *mem)
{
	long lost = 0;

	for (long i = EVERY_HOT / 2; i < PAGES; i += EVERY_HOT)
		lost += !(pagemap(mem + i * PAGE) & PM_PRESENT);
	return lost;
}

/* Which of the hot pages are there, and have a swap entry. */
static void look_for_slots(const char *mem, bool *has)
{
	for (long i = EVERY_HOT / 2; i < PAGES; i += EVERY_HOT)
		has[i] = page_flags(mem + i * PAGE) & PAGE_SWAPCACHE;
}

/*
 * clear_refs clears the accessed bits, but flushes no TLB: a processor would not set them again
 * while it knows the translations.  mprotect() makes it forget them.
 */
static bool cool_all(const struct scene *s)
{
	write_text("/proc/self/clear_refs", "1");
	return !mprotect(s->mem, LEN, PROT_NONE) &&
	       !mprotect(s->mem, LEN, PROT_READ | PROT_WRITE);
}

/* All pages are cold; then the hot ones are used; then reclaim takes a portion: how many pages. */
static bool one_round(const struct scene *s, long *taken)
{
	static bool had[PMD / PAGE], has[PMD / PAGE];

	CHECK(cool_all(s));
	use_hot(s->mem);
	*taken += count_pages(s->mem, LEN, PM_PRESENT);
	look_for_slots(s->mem, had);
	if (s->kind == ANON || s->kind == SHMEM)
		reclaim_all(PORTION);
	else
		reclaim_file(PORTION);
	*taken -= count_pages(s->mem, LEN, PM_PRESENT);
	look_for_slots(s->mem, has);
	for (long i = 0; i < PAGES; i++)
		outcome->wasted += has[i] && !had[i];
	return true;
}

static bool remade(struct scene *s, ahead_job make)
{
	munmap(s->mem, LEN);
	return make(s);
}

bool hot_rounds(struct scene *s, ahead_job make)
{
	long taken = 0, lost = 0;

	outcome->wasted = 0;
	ahead_count_from();
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(!i || !make || remade(s, make));
		CHECK(one_round(s, &taken));
		lost += count_hot_lost(s->mem);
		use_hot(s->mem);	/* have the lost ones back */
	}
	ahead_count_to();
	outcome->note = lost;
	CHECK(taken > PORTION / (long)PAGE);
	if (ahead_takes(s->kind))
		CHECK(outcome->hot > HOT / 4);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

bool hot_stays(struct scene *s)
{
	CHECK(ahead_make(s));
	CHECK(hot_rounds(s, NULL));
	if (ahead_takes(s->kind))
		CHECK(outcome->taken > HOT / 2);
	return true;
}

/*
 * Aging, between two looks of reclaim at pages that are on its list.  It clears the accessed
 * bits; that the pages were used is then known from PG_referenced alone.
 */

static void *reclaim_portion(void *unused)
{
	reclaim_all(PORTION);
	return unused;
}

/* Until reclaim has evicted something, and so is in its first window.  There is none when off. */
static bool await_window(long long evicted)
{
	double limit = now() + LONGEST;

	if (!ahead_is_on())
		return !usleep(20000);
	while (unmap_stat("evict_entries") == evicted) {
		CHECK(now() < limit);
		usleep(500);
	}
	return true;
}

/* The pages that are hot are used, and aged, while reclaim waits. */
static bool one_aged_round(struct scene *s, long *lost)
{
	long long evicted = unmap_stat("evict_entries");
	bool met, aged;
	pthread_t thread;

	CHECK(ahead_make(s));
	CHECK(cool_all(s));
	CHECK(!pthread_create(&thread, NULL, reclaim_portion, NULL));
	met = await_window(evicted);
	use_hot(s->mem);
	aged = mglru_age(true);
	pthread_join(thread, NULL);
	CHECK(met && aged);
	*lost += count_hot_lost(s->mem);
	CHECK_EQ(0, ahead_wrong(s));
	CHECK(!munmap(s->mem, s->len));
	return true;
}

/* As hot_stays(): notes how often a page was evicted after it had been used. */
bool aged_stays(struct scene *s)
{
	bool done = true;
	long lost = 0;

	table_window(LONG_WINDOW);
	ahead_count_from();
	for (int i = 0; done && i < ROUNDS; i++)
		done = one_aged_round(s, &lost);
	ahead_count_to();
	table_window(0);
	outcome->note = lost;
	CHECK(done);
	if (ahead_takes(s->kind))
		CHECK(outcome->taken > 0);
	return true;
}
