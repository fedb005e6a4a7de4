// SPDX-License-Identifier: GPL-2.0-only
/* One page table of anonymous memory with entries of every kind: see discard.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "discard.h"

enum entry { NOTHING, SMALL, LARGE, ZERO_PAGE, SWAPPED, FREED, NR_ENTRIES };

struct table {
	char *mem;
	unsigned int seed;
	bool full[PAGES];	/* the page has fill()'s content; otherwise zeroes */
};

static void fill_entries(struct table *table, long from, long nr, bool large)
{
	folio_size_set(large ? 64 : 4);
	for (long i = from; i < from + nr; i++) {
		memset(table->mem + i * PAGE, fill_byte(i, SEED), PAGE);
		table->full[i] = true;
	}
}

static void make_entries(struct table *table, long from, long nr, enum entry entry)
{
	char *mem = table->mem + from * PAGE;

	if (entry == NOTHING)
		return;
	if (entry == ZERO_PAGE) {
		folio_size_set(4);
		for (long i = 0; i < nr; i++)
			READ_ONCE(mem[i * PAGE]);
		return;
	}
	fill_entries(table, from, nr, entry == LARGE || rand_r(&table->seed) % 2);
	if (entry == SWAPPED)
		madvise(mem, nr * PAGE, MADV_PAGEOUT);
	if (entry == FREED) {
		madvise(mem, nr * PAGE, MADV_FREE);
		/* Pages that are written again must stay. */
		fill_entries(table, from, nr, false);
	}
}

static void make_table(struct table *table)
{
	for (long at = 0, nr; at < PAGES; at += nr) {
		nr = 1 + rand_r(&table->seed) % (rand_r(&table->seed) % 2 ? 4 : 48);
		if (at + nr > PAGES)
			nr = PAGES - at;
		make_entries(table, at, nr, rand_r(&table->seed) % NR_ENTRIES);
	}
}

static long wrong_in_table(const struct table *table)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += !page_is(table->mem + i * PAGE,
				  table->full[i] ? fill_byte(i, SEED) : 0);
	return wrong;
}

static bool discard_piece(struct table *table)
{
	long from = rand_r(&table->seed) % PAGES;
	long nr = 1 + rand_r(&table->seed) % (rand_r(&table->seed) % 2 ? 8 : PAGES);

	if (from + nr > PAGES)
		nr = PAGES - from;
	memset(table->full + from, 0, nr * sizeof(table->full[0]));
	return discard_pages(table->mem, from, from + nr);
}

bool mixed_table(struct scene *scene)
{
	struct table table = { .seed = time(NULL) ^ getpid() };

	printf("# seed %u\n", table.seed);
	for (int round = 0; round < 8; round++) {
		memset(table.full, 0, sizeof(table.full));
		table.mem = map_aligned(LEN, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1);
		CHECK(table.mem != MAP_FAILED);
		make_table(&table);
		for (int i = 0; i < 6; i++)
			CHECK(discard_piece(&table));
		CHECK_EQ(0, wrong_in_table(&table));
		if (round % 2)
			CHECK(!munmap(table.mem, LEN));
	}
	return true;
}
