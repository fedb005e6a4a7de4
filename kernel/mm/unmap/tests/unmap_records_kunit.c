// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of records of empty page tables, and of what a sweep finds where they say.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>

#include "../internal.h"
#include "../tables/table.h"
#include "../tables/tables_kept.h"
#include "table_kunit.h"

struct unmap_records_test {
	bool was_off;
};

static int unmap_records_init(struct kunit *test)
{
	struct unmap_records_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	/* Nothing is recorded while the switch is off. */
	t->was_off = !unmap_tables_enabled();
	if (t->was_off)
		static_branch_enable(&unmap_keys[UNMAP_BIT_TABLES]);
	return 0;
}

static void unmap_records_exit(struct kunit *test)
{
	struct unmap_records_test *t = test->priv;

	if (t && t->was_off)
		static_branch_disable(&unmap_keys[UNMAP_BIT_TABLES]);
}

/* An mm with a record of one table, kept for the shrinker. */
static struct mm_struct *mm_with_record(struct kunit *test)
{
	struct mm_struct *mm = mm_alloc();

	KUNIT_ASSERT_NOT_NULL(test, mm);
	KUNIT_ASSERT_EQ(test, 0, unmap_policy_store("pressure"));
	unmap_kept_add(mm, 0, PMD_SIZE, 1);
	return mm;
}

/* Who holds a record is no user of its mm, which may exit meanwhile: then the record is gone. */
static void unmap_records_need_users(struct kunit *test)
{
	struct kept *record;
	struct mm_struct *mm;

	/* Without it the worker could take the record. */
	if (!IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE))
		kunit_skip(test, "no policy pressure");
	mm = mm_with_record(test);
	record = unmap_kept_take_own(mm);
	KUNIT_EXPECT_NOT_NULL(test, record);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&mm->mm_users));
	if (record) {
		atomic_set(&mm->mm_users, 0);
		unmap_kept_put_back(record);
		atomic_set(&mm->mm_users, 1);
	}
	KUNIT_EXPECT_NULL(test, unmap_kept_take_own(mm));
	unmap_policy_store("eager");
	mmput(mm);
}

/*
 * A record made with "eager" goes to the shrinker when it is updated with "pressure", so
 * the worker must not take it.
 */
static void unmap_records_change_hands(struct kunit *test)
{
	unsigned long next = jiffies + HZ;
	struct kept *record;
	struct mm_struct *mm;

	if (!IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE))
		kunit_skip(test, "no policy pressure");
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	unmap_policy_store("eager");
	unmap_kept_add(mm, 0, PMD_SIZE, 1);
	unmap_policy_store("pressure");
	unmap_kept_add(mm, PMD_SIZE, 2 * PMD_SIZE, 1);
	mdelay(2 * jiffies_to_msecs(WORKER_FIRST));
	record = unmap_kept_take_due(hash_ptr(mm, KEPT_BUCKET_BITS), &next);
	KUNIT_EXPECT_NULL(test, record);
	if (record)
		unmap_kept_drop(record);
	unmap_policy_store("eager");
	mmput(mm);
}

/* A task puts its own record back empty; the worker frees it. */
static void unmap_records_are_freed_if_empty(struct kunit *test)
{
	unsigned long next = jiffies + HZ;
	struct mm_struct *mm = mm_alloc();
	struct kept *record;

	KUNIT_ASSERT_NOT_NULL(test, mm);
	unmap_kept_add(mm, 0, PMD_SIZE, 1);
	record = unmap_kept_take_own(mm);
	KUNIT_EXPECT_NOT_NULL(test, record);
	if (record) {
		unmap_places_clear(&record->places);
		unmap_kept_put_back(record);
	}
	KUNIT_EXPECT_NULL(test, unmap_kept_take_own(mm));
	/* The worker may have done so already. */
	mdelay(2 * jiffies_to_msecs(WORKER_FIRST));
	KUNIT_EXPECT_NULL(test, unmap_kept_take_due(hash_ptr(mm, KEPT_BUCKET_BITS), &next));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&mm->mm_users));
	mmput(mm);
}

/* Single places are stored first, then a range, whose start is aligned to a table. */
static void unmap_records_places_grow(struct kunit *test)
{
	struct places p;
	unsigned long i;

	unmap_places_clear(&p);
	for (i = 0; i < PLACES; i++)
		unmap_places_add(&p, i * PMD_SIZE + PAGE_SIZE, (i + 1) * PMD_SIZE, 1);
	KUNIT_EXPECT_EQ(test, PLACES, p.nr_places);
	KUNIT_EXPECT_EQ(test, 0UL, p.end);
	unmap_places_add(&p, 2 * PMD_SIZE - PAGE_SIZE, 2 * PMD_SIZE, 1);
	KUNIT_EXPECT_EQ(test, PMD_SIZE, p.start);
	KUNIT_EXPECT_EQ(test, 2 * PMD_SIZE, p.end);
}

/* A sweep must not take a huge page of a device for a page of PMDs. */
static void unmap_records_huge_pud_has_no_pmds(struct kunit *test)
{
	const unsigned long base = PUD_SIZE, addr = base + 7 * PMD_SIZE;
	struct mm_struct *mm;
	pmd_t *pmd = NULL;
	pud_t *pud;

	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	if (mm_pud_folded(mm)) {
		mmput(mm);
		kunit_skip(test, "no PUDs: page tables of three levels");
	}
	KUNIT_EXPECT_NULL(test, unmap_find_pmd(mm, addr));
	pud = alloc_pud(mm, addr);
	KUNIT_EXPECT_NULL(test, unmap_find_pmd(mm, addr));
	if (pud) {
		set_pud(pud, pud_mkhuge(pfn_pud(PUD_SIZE >> PAGE_SHIFT, PAGE_KERNEL)));
		KUNIT_EXPECT_TRUE(test, pud_leaf(*pud));
		KUNIT_EXPECT_NULL(test, unmap_find_pmd(mm, addr));
		pud_clear(pud);
		pmd = pmd_alloc(mm, pud, addr);
	}
	KUNIT_EXPECT_NOT_NULL(test, pmd);
	KUNIT_EXPECT_PTR_EQ(test, unmap_find_pmd(mm, addr), pmd);
	free_tables(mm, base);
	mmput(mm);
}

static struct kunit_case unmap_records_cases[] = {
	KUNIT_CASE(unmap_records_are_freed_if_empty),
	KUNIT_CASE(unmap_records_need_users),
	KUNIT_CASE(unmap_records_change_hands),
	KUNIT_CASE(unmap_records_places_grow),
	KUNIT_CASE(unmap_records_huge_pud_has_no_pmds),
	{}
};

static struct kunit_suite unmap_records_suite = {
	.name = "unmap_records",
	.init = unmap_records_init,
	.exit = unmap_records_exit,
	.test_cases = unmap_records_cases,
};

kunit_test_suite(unmap_records_suite);

MODULE_DESCRIPTION("KUnit tests of records of empty page tables");
MODULE_LICENSE("GPL");
