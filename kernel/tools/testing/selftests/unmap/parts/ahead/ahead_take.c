// SPDX-License-Identifier: GPL-2.0-only
/* What is taken, and what is not, although nothing refuses it: see ahead.h. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"

/* Each stretch's first folio is not taken ahead of its turn. */
#define MOST_TAKEN	(PAGES - PAGES / STRETCH)

/* At least three of four are taken, and at most STRETCH at once. */
static bool most_taken(enum kind kind)
{
	if (!ahead_takes(kind))
		return true;
	CHECK(outcome->taken >= PAGES * 3 / 4);
	CHECK(outcome->taken <= MOST_TAKEN);
	CHECK_EQ(PAGES, outcome->entries);
	CHECK(outcome->taken <= outcome->stretches * (STRETCH - 1));
	return true;
}

/* The TLB holds translations of all pages, which must not be used afterwards. */
static void warm_tlb(const char *mem)
{
	for (long i = 0; i < PAGES; i++)
		READ_ONCE(mem[i * PAGE]);
}

bool take_all(struct scene *s)
{
	CHECK(ahead_make(s));
	warm_tlb(s->mem);
	CHECK(ahead_page_out(s));
	CHECK_EQ(0, outcome->there);
	if (s->kind == LAZYFREE)
		CHECK_EQ(0, count_not_zero(s->mem, LEN));
	CHECK_EQ(0, ahead_wrong(s));
	CHECK(most_taken(s->kind));
	CHECK_EQ(s->kind == LAZYFREE ? PAGES : 0, outcome->freed);
	return true;
}

/* Runs of one entry: nothing is taken beside it. */
bool take_max_run(struct scene *s)
{
	long long before = read_field(UNMAP_SYSFS "max_run", "");
	bool done;

	CHECK(ahead_make(s));
	CHECK(before > 0 && write_number(UNMAP_SYSFS "max_run", 1));
	done = ahead_page_out(s);
	CHECK(write_number(UNMAP_SYSFS "max_run", before));
	CHECK(done);
	CHECK_EQ(0, outcome->there);
	CHECK_EQ(0, outcome->taken);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/* A list of one folio: its neighbours are not on it, and stay. */
bool take_alone(struct scene *s)
{
	struct scene page = { .len = PAGE };
	long long taken;

	CHECK(ahead_make(s));
	taken = ahead_taken();
	for (long i = 1; i < PAGES; i += 2) {
		page.mem = s->mem + i * PAGE;
		CHECK(!madvise(page.mem, PAGE, MADV_PAGEOUT));
	}
	CHECK_EQ(0, ahead_taken() - taken);
	CHECK_EQ(PAGES / 2, count_pages(s->mem, LEN, PM_PRESENT));
	for (long i = 0; i < PAGES; i += 2)
		CHECK(pagemap(s->mem + i * PAGE) & PM_PRESENT);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/* Each page is a VMA of its own. */
bool take_vmas(struct scene *s)
{
	CHECK(ahead_make(s));
	for (long i = 0; i < PAGES; i += 2)
		CHECK(!mprotect(s->mem + i * PAGE, PAGE, PROT_READ));
	CHECK(ahead_reclaim(s, 8));
	CHECK_EQ(0, outcome->there);
	if (ahead_is_on())
		CHECK(outcome->taken <= ahead_own(s->kind));
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/* Memory of two pages around the end of every other table: neighbours that share no table. */
#define ENDS	(OWN + 32)

static char *end_of_table(char *arena, long i)
{
	return arena + (2 * i + 1) * PMD - PAGE;
}

static long count_lost(char *arena, enum kind kind)
{
	long lost = 0;

	for (long i = 0; i < ENDS; i++)
		for (long next = 0; next < 2; next++) {
			const char *page = end_of_table(arena, i) + next * PAGE;

			lost += !page_is(page, fill_byte(next, i)) &&
				!(kind == LAZYFREE && page_is(page, 0));
		}
	return lost;
}

bool take_tables(struct scene *s)
{
	const size_t len = 2 * ENDS * PMD;
	char *arena = map_aligned(len, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	CHECK(arena != MAP_FAILED);
	for (long i = 0; i < ENDS; i++)
		fill(end_of_table(arena, i), 2 * PAGE, i);
	CHECK(s->kind != LAZYFREE || !madvise(arena, len, MADV_FREE));
	s->mem = arena;
	s->len = len;
	CHECK(ahead_reclaim(s, 8));
	CHECK_EQ(0, count_pages(arena, len, PM_PRESENT));
	if (ahead_is_on())
		CHECK(outcome->taken <= ahead_own(s->kind));
	CHECK_EQ(0, count_lost(arena, s->kind));
	return true;
}

/* memory.reclaim, where references count: a quarter is taken, even out of order. */
bool take_reclaim(struct scene *s)
{
	CHECK(ahead_make(s));
	CHECK(ahead_reclaim(s, 8));
	CHECK_EQ(0, outcome->there);
	if (ahead_takes(s->kind))
		CHECK(outcome->taken >= PAGES / 4);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}
