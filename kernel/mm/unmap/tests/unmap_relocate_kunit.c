// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the runs are that are relocated, and those that come back: law 16.  On a page table
 * made for the tests, of which two pages follow one another; nobody else uses it, so no lock is
 * taken.  The mm is init_mm.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../internal.h"
#include "../knobs.h"
#include "../relocate/relocate.h"

#define ORDER		7
#define NR		BIT(ORDER)
#define TABLE_ADDR	(16UL << PMD_SHIFT)
#define TABLE_ORDER	1
#define BLOCK		RELOCATE_YOUNG_TOGETHER

struct unmap_relocate_test {
	struct vm_area_struct vma;
	struct folio *folio;
	pte_t *table;
	unsigned int max_run;
};

static int unmap_relocate_init(struct kunit *test)
{
	struct unmap_relocate_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->folio = folio_alloc(GFP_KERNEL | __GFP_COMP, ORDER);
	t->table = (pte_t *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, TABLE_ORDER);
	t->vma.vm_mm = &init_mm;
	t->vma.vm_start = TABLE_ADDR;
	t->vma.vm_end = TABLE_ADDR + (PTRS_PER_PTE << TABLE_ORDER) * PAGE_SIZE;
	t->max_run = unmap_max_run;
	WRITE_ONCE(unmap_max_run, PTRS_PER_PTE);
	test->priv = t;
	return t->folio && t->table ? 0 : -ENOMEM;
}

static void set_anon(struct unmap_relocate_test *t, bool anon)
{
	t->folio->mapping = anon ? (void *)FOLIO_MAPPING_ANON : NULL;
}

static void unmap_relocate_exit(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;

	if (!t)
		return;
	WRITE_ONCE(unmap_max_run, t->max_run);
	free_pages((unsigned long)t->table, TABLE_ORDER);
	if (!t->folio)
		return;
	set_anon(t, false);
	folio_put(t->folio);
}

static void put_entry(struct unmap_relocate_test *t, unsigned int i, pte_t pte)
{
	unsigned long addr = TABLE_ADDR + i * PAGE_SIZE;

	pte_clear(&init_mm, addr, t->table + i);
	set_pte_at(&init_mm, addr, t->table + i, pte);
}

static pte_t plain_pte(struct unmap_relocate_test *t, unsigned int i)
{
	return pte_mkold(pte_mkclean(pfn_pte(folio_pfn(t->folio) + i, PAGE_READONLY)));
}

/* A migration entry of the folio's @i-th page. */
static swp_entry_t entry_of(struct unmap_relocate_test *t, unsigned int i)
{
	return make_readable_migration_entry(folio_pfn(t->folio) + i);
}

static pte_t young_entry(struct unmap_relocate_test *t, unsigned int i)
{
	return swp_entry_to_pte(make_migration_entry_young(entry_of(t, i)));
}

/* Migration entries of the whole folio, from entry @at on. */
static void put_entries(struct unmap_relocate_test *t, unsigned int at)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		put_entry(t, at + i, swp_entry_to_pte(entry_of(t, i)));
}

/* What comes back first from entry @at on, which is of the folio's @i-th page. */
static struct unmap_back find_back(struct unmap_relocate_test *t, unsigned int at, unsigned int i)
{
	struct unmap_back b = {
		.src = t->folio, .dst = t->folio, .vma = &t->vma, .ptep = t->table + at,
		.addr = TABLE_ADDR + at * PAGE_SIZE, .old = ptep_get(t->table + at),
		.page = folio_page(t->folio, i),
	};

	b.entry = softleaf_from_pte(b.old);
	unmap_back_find(&b);
	return b;
}

static void unmap_relocate_back_is_whole(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;
	struct unmap_back b;

	put_entries(t, 3);
	b = find_back(t, 3, 0);
	KUNIT_EXPECT_EQ(test, b.nr, NR);
	KUNIT_EXPECT_FALSE(test, b.young || b.dirty);
	KUNIT_EXPECT_EQ(test, find_back(t, 3 + 5, 5).nr, NR - 5);
	WRITE_ONCE(unmap_max_run, 7);
	KUNIT_EXPECT_EQ(test, find_back(t, 3, 0).nr, 7);
}

static void unmap_relocate_back_ends_with_table(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;

	put_entries(t, PTRS_PER_PTE - 4);
	KUNIT_EXPECT_EQ(test, find_back(t, PTRS_PER_PTE - 4, 0).nr, 4);
	KUNIT_EXPECT_EQ(test, find_back(t, PTRS_PER_PTE, 4).nr, NR - 4);
}

static void expect_odd(struct kunit *test, pte_t odd)
{
	struct unmap_relocate_test *t = test->priv;

	put_entries(t, 0);
	put_entry(t, 6, odd);
	KUNIT_EXPECT_EQ(test, find_back(t, 0, 0).nr, 6);
}

static void unmap_relocate_back_ends_where_entries_differ(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;
	unsigned long pfn = folio_pfn(t->folio) + 6;
	pte_t plain = swp_entry_to_pte(entry_of(t, 6));

	expect_odd(test, __pte(0));
	expect_odd(test, swp_entry_to_pte(entry_of(t, 7)));
	expect_odd(test, swp_entry_to_pte(make_writable_migration_entry(pfn)));
	expect_odd(test, swp_entry_to_pte(make_readable_exclusive_migration_entry(pfn)));
	if (pte_swp_soft_dirty(pte_swp_mksoft_dirty(plain)))
		expect_odd(test, pte_swp_mksoft_dirty(plain));
	if (pte_swp_uffd(pte_swp_mkuffd(plain)))
		expect_odd(test, pte_swp_mkuffd(plain));
}

static void unmap_relocate_back_gathers_dirty(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;
	swp_entry_t dirty = make_migration_entry_dirty(entry_of(t, 100));
	struct unmap_back b;

	if (!migration_entry_supports_ad())
		kunit_skip(test, "migration entries have no accessed and dirty bits here");
	put_entries(t, 0);
	put_entry(t, 100, swp_entry_to_pte(dirty));
	set_anon(t, true);
	b = find_back(t, 0, 0);
	KUNIT_EXPECT_EQ(test, b.nr, NR);
	KUNIT_EXPECT_TRUE(test, b.dirty);
	KUNIT_EXPECT_FALSE(test, b.young);
	set_anon(t, false);
	b = find_back(t, 0, 0);
	KUNIT_EXPECT_EQ(test, b.nr, 100);
	KUNIT_EXPECT_FALSE(test, b.dirty);
}

/* A page that was accessed shares that with its block of the table, and with no other. */
static void unmap_relocate_back_gathers_young_by_block(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;
	unsigned int odd, at, i;
	struct unmap_back b;

	if (!migration_entry_supports_ad())
		kunit_skip(test, "migration entries have no accessed and dirty bits here");
	for (odd = 0; odd < NR; odd++) {
		put_entries(t, 5);
		put_entry(t, 5 + odd, young_entry(t, odd));
		for (i = 0; i < NR; i += b.nr) {
			at = 5 + i;
			b = find_back(t, at, i);
			KUNIT_EXPECT_EQ_MSG(test, b.young, odd - i < b.nr, "%u at %u", odd, i);
			if (b.young)
				KUNIT_EXPECT_EQ(test, at / BLOCK, (at + b.nr - 1) / BLOCK);
		}
	}
}

static void unmap_relocate_cuts_young_by_block(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;
	struct pte_run run;
	unsigned int odd, i;

	for (odd = 0; odd < NR; odd++) {
		for (i = 0; i < NR; i++)
			put_entry(t, 5 + i, plain_pte(t, i));
		put_entry(t, 5 + odd, pte_mkyoung(plain_pte(t, odd)));
		for (i = 0; i < NR; i += run.nr) {
			run = (struct pte_run) {
				.ptep = t->table + 5 + i, .nr = NR - i,
				.addr = TABLE_ADDR + (5 + i) * PAGE_SIZE,
			};
			unmap_relocate_cut_young(&run);
			KUNIT_ASSERT_NE(test, run.nr, 0);
			if (odd - i < run.nr)
				KUNIT_EXPECT_LE_MSG(test, run.nr, BLOCK, "%u at %u", odd, i);
		}
	}
}

/* Single pages do not share what they have recorded. */
static void unmap_relocate_split_ends_where_entries_differ(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;
	swp_entry_t dirty;
	unsigned int odd;

	put_entries(t, 5);
	KUNIT_EXPECT_EQ(test, unmap_split_alike(t->table + 5, NR), NR);
	KUNIT_EXPECT_EQ(test, unmap_split_alike(t->table + 5, 7), 7);
	KUNIT_EXPECT_EQ(test, unmap_split_alike(t->table + 5, 1), 1);
	for (odd = 1; odd < NR; odd++) {
		put_entry(t, 5 + odd, swp_entry_to_pte(entry_of(t, odd - 1)));
		KUNIT_EXPECT_EQ(test, unmap_split_alike(t->table + 5, NR), odd);
		put_entry(t, 5 + odd, plain_pte(t, odd));
		KUNIT_EXPECT_EQ(test, unmap_split_alike(t->table + 5, NR), odd);
		if (migration_entry_supports_ad()) {
			put_entry(t, 5 + odd, young_entry(t, odd));
			KUNIT_EXPECT_EQ(test, unmap_split_alike(t->table + 5, NR), odd);
			dirty = make_migration_entry_dirty(entry_of(t, odd));
			put_entry(t, 5 + odd, swp_entry_to_pte(dirty));
			KUNIT_EXPECT_EQ(test, unmap_split_alike(t->table + 5, NR), odd);
		}
		put_entry(t, 5 + odd, swp_entry_to_pte(entry_of(t, odd)));
	}
}

/* Law 2: the table, the VMA, the maximum, and what is single. */
static void unmap_relocate_split_ends_with_table(struct kunit *test)
{
	struct unmap_relocate_test *t = test->priv;
	struct unmap_back b;

	put_entries(t, PTRS_PER_PTE - 4);
	b = find_back(t, PTRS_PER_PTE - 4, 0);
	KUNIT_EXPECT_EQ(test, unmap_split_limit(&b, NR), 4);
	KUNIT_EXPECT_EQ(test, unmap_split_limit(&b, 3), 3);
	b = find_back(t, PTRS_PER_PTE, 4);
	KUNIT_EXPECT_EQ(test, unmap_split_limit(&b, NR), NR);
	t->vma.vm_end = b.addr + 5 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, unmap_split_limit(&b, NR), 5);
	WRITE_ONCE(unmap_max_run, 2);
	KUNIT_EXPECT_EQ(test, unmap_split_limit(&b, NR), 2);
}

static bool hinted(struct kunit *test, struct folio *next, pgoff_t index)
{
	struct unmap_relocate_test *t = test->priv;

	next->index = index;
	return unmap_migration_hinted(t->folio, next);
}

static void unmap_relocate_hints_within_a_table(struct kunit *test)
{
	struct folio *next = kunit_kzalloc(test, sizeof(*next), GFP_KERNEL);
	struct unmap_relocate_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, next);
	set_anon(t, true);
	next->mapping = t->folio->mapping;
	t->folio->index = PTRS_PER_PTE + 7;
	KUNIT_EXPECT_TRUE(test, hinted(test, next, PTRS_PER_PTE + 6));
	KUNIT_EXPECT_TRUE(test, hinted(test, next, PTRS_PER_PTE + 8));
	KUNIT_EXPECT_TRUE(test, hinted(test, next, 2 * PTRS_PER_PTE + 6));
	KUNIT_EXPECT_FALSE(test, hinted(test, next, 2 * PTRS_PER_PTE + 7));
	KUNIT_EXPECT_FALSE(test, hinted(test, next, 6));
	t->folio->index = 0;
	KUNIT_EXPECT_TRUE(test, hinted(test, next, 1));
	KUNIT_EXPECT_FALSE(test, hinted(test, next, PTRS_PER_PTE));
	KUNIT_EXPECT_FALSE(test, hinted(test, next, -1UL - PTRS_PER_PTE));
	next->mapping = NULL;
	KUNIT_EXPECT_FALSE(test, hinted(test, next, 1));
}

static struct kunit_case unmap_relocate_cases[] = {
	KUNIT_CASE(unmap_relocate_back_is_whole),
	KUNIT_CASE(unmap_relocate_back_ends_with_table),
	KUNIT_CASE(unmap_relocate_back_ends_where_entries_differ),
	KUNIT_CASE(unmap_relocate_back_gathers_dirty),
	KUNIT_CASE(unmap_relocate_back_gathers_young_by_block),
	KUNIT_CASE(unmap_relocate_cuts_young_by_block),
	KUNIT_CASE(unmap_relocate_split_ends_where_entries_differ),
	KUNIT_CASE(unmap_relocate_split_ends_with_table),
	KUNIT_CASE(unmap_relocate_hints_within_a_table),
	{}
};

static struct kunit_suite unmap_relocate_suite = {
	.name = "unmap_relocate",
	.init = unmap_relocate_init,
	.exit = unmap_relocate_exit,
	.test_cases = unmap_relocate_cases,
};

kunit_test_suite(unmap_relocate_suite);

MODULE_DESCRIPTION("KUnit tests of finding runs to be relocated, or to come back");
MODULE_LICENSE("GPL");
