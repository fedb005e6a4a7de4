// SPDX-License-Identifier: GPL-2.0-only
/* Pages that are in use are not evicted ahead of their turn: see ahead.h. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"

#define LRU_GEN_ON	"/sys/kernel/mm/lru_gen/enabled"
#define PORTION		(64 * PAGE)
#define ROUNDS		6	/* less than all cold pages */

static long long mglru_before = -1;

bool mglru_set(int mask)
{
	if (mglru_before < 0)
		mglru_before = read_field(LRU_GEN_ON, "");
	return mglru_before >= 0 && write_number(LRU_GEN_ON, mask) &&
	       read_field(LRU_GEN_ON, "") == mask;
}

void mglru_restore(void)
{
	if (mglru_before >= 0)
		write_number(LRU_GEN_ON, mglru_before);
	mglru_before = -1;
}

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

/* All pages are cold; then the hot ones are used; then reclaim takes a portion. */
static long one_round(const struct scene *s)
{
	long lost;

	if (!cool_all(s))
		return HOT;
	use_hot(s->mem);
	if (s->kind == ANON || s->kind == SHMEM)
		reclaim_all(PORTION);
	else
		reclaim_file(PORTION);
	lost = count_hot_lost(s->mem);
	use_hot(s->mem);	/* have the lost ones back */
	return lost;
}

/*
 * Notes how often a hot page was evicted.  Some cold ones must be, and hot ones among them must
 * have been refused.
 */
bool hot_stays(struct scene *s)
{
	long lost = 0;

	CHECK(ahead_make(s));
	ahead_count_from();
	for (int i = 0; i < ROUNDS; i++)
		lost += one_round(s);
	ahead_count_to();
	outcome->note = lost;
	CHECK(count_pages(s->mem, LEN, PM_PRESENT) < PAGES - 64);
	if (ahead_takes(s->kind))
		CHECK(outcome->taken > HOT / 2 && outcome->hot > HOT / 4);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}
