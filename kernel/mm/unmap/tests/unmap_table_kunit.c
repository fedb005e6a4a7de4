// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of noticing that a page table is empty.
 *
 * The table under test is allocated for init_mm, which page-table checking and TLB flushing
 * ignore.  No other code uses it, so no lock is taken.
 */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <asm/pgalloc.h>

#include "../internal.h"
#include "../tables/table.h"
#include "table_kunit.h"

#define STEPS		100000

struct unmap_table_test {
	pte_t *table;
	struct rnd_state rnd;
};

static int unmap_table_init(struct kunit *test)
{
	struct unmap_table_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	random_begin(test, &t->rnd);
	t->table = pte_alloc_one_kernel(&init_mm);
	return t->table ? 0 : -ENOMEM;
}

static void unmap_table_exit(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;

	if (t && t->table)
		pte_free_kernel(&init_mm, t->table);
}

/* A present entry, a swap entry or a marker: any entry that is not none is in use. */
static pte_t random_entry(struct unmap_table_test *t)
{
	switch (random_below(&t->rnd, 4)) {
	case 0:
		return swp_entry_to_pte(swp_entry(0, 1 + random_below(&t->rnd, 1 << 20)));
	case 1:
		return make_pte_marker(PTE_MARKER_POISONED);
	case 2:
		return pfn_pte(1 + random_below(&t->rnd, 1 << 20), PAGE_READONLY);
	default:
		return pfn_pte(1 + random_below(&t->rnd, 1 << 20), PAGE_NONE);
	}
}

static void clear_entry(struct unmap_table_test *t, unsigned int i)
{
	pte_clear(&init_mm, TABLE_ADDR + i * PAGE_SIZE, t->table + i);
}

static void fill_entry(struct unmap_table_test *t, unsigned int i)
{
	clear_entry(t, i);
	set_pte_at(&init_mm, TABLE_ADDR + i * PAGE_SIZE, t->table + i, random_entry(t));
}

static bool is_used(const struct unmap_table_test *t, unsigned int i)
{
	return !pte_none(ptep_get(t->table + i));
}

static bool is_empty(const struct unmap_table_test *t)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		if (is_used(t, i))
			return false;
	return true;
}

static void set_word(struct unmap_table_test *t, unsigned long word)
{
	virt_to_ptdesc(t->table)->pt_index = word;
}

static unsigned long random_word(struct unmap_table_test *t)
{
	unsigned long high = prandom_u32_state(&t->rnd);

	return high * PTRS_PER_PTE * PTRS_PER_PTE + prandom_u32_state(&t->rnd);
}

/* By a look at all entries, if the watched one is none. */
static bool emptied(const struct unmap_table_test *t)
{
	return !unmap_table_watched_used(t->table) && unmap_table_look(t->table);
}

/* The answer must be right, and unless the table is empty, the watched entry in use. */
static void expect_right(struct kunit *test, unsigned long step)
{
	struct unmap_table_test *t = test->priv;
	unsigned long word = virt_to_ptdesc(t->table)->pt_index;
	bool empty = is_empty(t), seems = unmap_table_emptied(&init_mm, t->table);

	KUNIT_ASSERT_TRUE_MSG(test, seems || !empty, "step %lu", step);
	if (seems)
		set_word(t, word);
	else
		KUNIT_ASSERT_TRUE_MSG(test, is_used(t, unmap_table_watched(t->table)),
				      "step %lu", step);
	KUNIT_ASSERT_EQ_MSG(test, emptied(t), empty, "step %lu, watched %u", step,
			    unmap_table_watched(t->table));
	if (!empty)
		KUNIT_ASSERT_TRUE_MSG(test, is_used(t, unmap_table_watched(t->table)),
				      "step %lu", step);
}

static void clear_and_expect(struct kunit *test, unsigned int i, unsigned long step)
{
	clear_entry(test->priv, i);
	expect_right(test, step);
}

static void clear_all(struct unmap_table_test *t)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		clear_entry(t, i);
}

/*
 * Fill and clear entries at random, with phases in which few entries are in use and the
 * table becomes empty, and phases in which nearly all are.  With @garbage, the word with the
 * watched entry is overwritten now and then.
 */
static void run_random(struct kunit *test, bool garbage)
{
	struct unmap_table_test *t = test->priv;
	unsigned int used = 1;
	unsigned long step;

	for (step = 0; step < STEPS; step++) {
		unsigned int i = random_below(&t->rnd, PTRS_PER_PTE);

		if (random_below(&t->rnd, 2000) == 0) {
			used = 1 + random_below(&t->rnd, 4);
			clear_all(t);
		}
		if (garbage && random_below(&t->rnd, 16) == 0)
			set_word(t, random_word(t));
		/* With only five entries in use at most, the table becomes empty often. */
		if (used < 4)
			i = i % 5 * (PTRS_PER_PTE / 5);
		if (random_below(&t->rnd, 5) < used)
			fill_entry(t, i);
		else
			clear_and_expect(test, i, step);
	}
}

static void unmap_table_says_empty_when_empty(struct kunit *test)
{
	run_random(test, false);
}

static void unmap_table_survives_garbage(struct kunit *test)
{
	run_random(test, true);
}

/* A table with a single entry in use: each entry in turn, and any entry watched before. */
static void unmap_table_finds_any_entry(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	unsigned int i, round;

	for (i = 0; i < PTRS_PER_PTE; i++) {
		fill_entry(t, i);
		for (round = 0; round < 16; round++) {
			set_word(t, random_word(t));
			KUNIT_ASSERT_FALSE(test, emptied(t));
			KUNIT_ASSERT_EQ(test, unmap_table_watched(t->table), i);
		}
		clear_and_expect(test, i, i);
	}
}

/* What is in use is seen among the next few entries, and at the end of the table. */
static void unmap_table_seems_empty_by_a_few(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++) {
		fill_entry(t, i);
		set_word(t, 100);
		KUNIT_EXPECT_EQ_MSG(test, unmap_table_seems_empty(&init_mm, t->table),
				    (i < 100 || i >= 100 + TABLE_GLANCE) &&
				    i != PTRS_PER_PTE - 1, "entry %u", i);
		clear_entry(t, i);
	}
}

/* How many entries a search has read: it goes around the table once at most. */
static unsigned int cost_of_look(const struct unmap_table_test *t, unsigned int before,
				 bool empty)
{
	unsigned int now = unmap_table_watched(t->table);

	return empty ? PTRS_PER_PTE : (now - before) % PTRS_PER_PTE + 1;
}

/*
 * Clear all entries of a full table in the given order.  The searches together must read
 * only a few times as many entries as the table has.
 */
static void expect_cheap(struct kunit *test, const unsigned short *order, unsigned int first)
{
	struct unmap_table_test *t = test->priv;
	unsigned int i, before, cost = 0;
	bool empty = false;

	for (i = 0; i < PTRS_PER_PTE; i++)
		fill_entry(t, i);
	set_word(t, first);
	for (i = 0; i < PTRS_PER_PTE; i++) {
		clear_entry(t, order[i]);
		before = unmap_table_watched(t->table);
		cost++;
		if (is_used(t, before))
			continue;
		empty = emptied(t);
		cost += cost_of_look(t, before, empty);
		KUNIT_ASSERT_EQ(test, empty, i == PTRS_PER_PTE - 1);
	}
	KUNIT_EXPECT_TRUE(test, empty);
	KUNIT_EXPECT_LE(test, cost, 4 * PTRS_PER_PTE);
}

static void shuffle(struct unmap_table_test *t, unsigned short *order)
{
	unsigned int i, other;

	for (i = PTRS_PER_PTE - 1; i > 0; i--) {
		other = random_below(&t->rnd, i + 1);
		swap(order[i], order[other]);
	}
}

static void unmap_table_clearing_all_is_cheap(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	unsigned short *order;
	unsigned int i;

	order = kunit_kmalloc_array(test, PTRS_PER_PTE, sizeof(*order), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, order);
	for (i = 0; i < PTRS_PER_PTE; i++)
		order[i] = i;
	for (i = 0; i < PTRS_PER_PTE; i += 73)
		expect_cheap(test, order, i);
	for (i = 0; i < PTRS_PER_PTE; i++)
		order[i] = PTRS_PER_PTE - 1 - i;
	for (i = 0; i < PTRS_PER_PTE; i += 73)
		expect_cheap(test, order, i);
	for (i = 0; i < 100; i++) {
		shuffle(t, order);
		expect_cheap(test, order, random_below(&t->rnd, PTRS_PER_PTE));
	}
}

/* MADV_DONTNEED is left to stock code only where that may free a table. */
static void unmap_table_range_holds_one(struct kunit *test)
{
	const unsigned long size = PMD_SIZE;

	KUNIT_EXPECT_TRUE(test, unmap_holds_table(size, 2 * size));
	KUNIT_EXPECT_TRUE(test, unmap_holds_table(PAGE_SIZE, 2 * size));
	KUNIT_EXPECT_TRUE(test, unmap_holds_table(size - PAGE_SIZE, 2 * size + PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, unmap_holds_table(size, 2 * size - PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, unmap_holds_table(size + PAGE_SIZE, 3 * size - PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, unmap_holds_table(PAGE_SIZE, 2 * PAGE_SIZE));
}

static struct kunit_case unmap_table_cases[] = {
	KUNIT_CASE_SLOW(unmap_table_says_empty_when_empty),
	KUNIT_CASE_SLOW(unmap_table_survives_garbage),
	KUNIT_CASE(unmap_table_finds_any_entry),
	KUNIT_CASE(unmap_table_seems_empty_by_a_few),
	KUNIT_CASE(unmap_table_clearing_all_is_cheap),
	KUNIT_CASE(unmap_table_range_holds_one),
	{}
};

static struct kunit_suite unmap_table_suite = {
	.name = "unmap_table",
	.init = unmap_table_init,
	.exit = unmap_table_exit,
	.test_cases = unmap_table_cases,
};

kunit_test_suite(unmap_table_suite);

MODULE_DESCRIPTION("KUnit tests of noticing empty page tables");
MODULE_LICENSE("GPL");
