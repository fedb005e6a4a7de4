// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of page tables that are freed together: a batch, and the tables of an mmu_gather.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/sched/mm.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

#include "../internal.h"
#include "../tables/table.h"
#include "table_kunit.h"

struct unmap_batch_test {
	struct rnd_state rnd;
	pmd_t pmds[3 * TABLE_BATCH];
};

static int unmap_batch_init(struct kunit *test)
{
	struct unmap_batch_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	random_begin(test, &t->rnd);
	return 0;
}

/* The edges of the second of three batches, with each of its tables noted first. */
static void unmap_batch_edges(struct kunit *test)
{
	struct unmap_batch_test *t = test->priv;
	const unsigned long size = TABLE_BATCH * PMD_SIZE;
	const unsigned long base = size * (1 + random_below(&t->rnd, 1000));
	pmd_t *pmds = t->pmds + TABLE_BATCH;
	struct table_batch batch;
	unsigned int i;

	for (i = 0; i < TABLE_BATCH; i++) {
		unsigned long addr = base + i * PMD_SIZE;

		unmap_batch_begin(&batch, NULL, NULL);
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base - 1));
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base + size));
		unmap_batch_note(&batch, pmds + i, addr + random_below(&t->rnd, PMD_SIZE));
		KUNIT_EXPECT_PTR_EQ(test, batch.pmd, pmds);
		KUNIT_EXPECT_EQ(test, batch.addr, base);
		KUNIT_EXPECT_EQ(test, batch.empty, BIT(i));
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base));
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base + size - 1));
		KUNIT_EXPECT_FALSE(test, unmap_batch_fits(&batch, base - 1));
		KUNIT_EXPECT_FALSE(test, unmap_batch_fits(&batch, base + size));
	}
}

static void unmap_batch_fills(struct kunit *test)
{
	struct unmap_batch_test *t = test->priv;
	const unsigned long base = TABLE_BATCH * PMD_SIZE;
	struct table_batch batch;
	unsigned int i;

	unmap_batch_begin(&batch, NULL, NULL);
	for (i = 0; i < TABLE_BATCH; i++) {
		/*
		 * The first or the last address of the table, alternately.  To note a table
		 * twice must change nothing.
		 */
		unsigned long addr = base + i * PMD_SIZE + (i % 2 ? PMD_SIZE - 1 : 0);

		unmap_batch_note(&batch, t->pmds + i, addr);
		unmap_batch_note(&batch, t->pmds + i, addr);
		KUNIT_EXPECT_EQ(test, batch.empty, GENMASK(i, 0));
		KUNIT_EXPECT_PTR_EQ(test, batch.pmd, &t->pmds[0]);
	}
}

/* The last pass over a table may begin anywhere in it: the flush must hit other tables, too. */
static void unmap_batch_gathered_aligned(struct kunit *test)
{
	struct unmap_batch_test *t = test->priv;
	const unsigned int i = 1 + random_below(&t->rnd, PTRS_PER_PTE - 1);
	const unsigned long addr = TABLE_ADDR + i * PAGE_SIZE;
	struct mm_struct *mm;
	struct mmu_gather tlb;
	pgtable_t table;

	if (!IS_ENABLED(CONFIG_UNMAP_GATHER_TABLES))
		kunit_skip(test, "an mmu_gather frees no tables before munmap()");
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	table = pte_alloc_one(mm);
	KUNIT_ASSERT_NOT_NULL(test, table);
	mm_inc_nr_ptes(mm);
	tlb_gather_mmu(&tlb, mm);
	unmap_table_gather(&tlb, page_to_virt(table), addr);
	KUNIT_EXPECT_EQ(test, tlb.start, TABLE_ADDR);
	KUNIT_EXPECT_GE(test, tlb.end, TABLE_ADDR + PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, tlb.freed_tables);
	tlb_finish_mmu(&tlb);
	mmput(mm);
}

/* An early flush covers the gathered tables, and leaves them to the gather. */
static void unmap_batch_gathered_kept(struct kunit *test)
{
	struct mm_struct *mm;
	struct mmu_gather tlb;
	pgtable_t table;
	void *kept;

	if (!IS_ENABLED(CONFIG_UNMAP_GATHER_TABLES))
		kunit_skip(test, "an mmu_gather frees no tables before munmap()");
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	table = pte_alloc_one(mm);
	KUNIT_ASSERT_NOT_NULL(test, table);
	mm_inc_nr_ptes(mm);
	tlb_gather_mmu(&tlb, mm);
	unmap_table_gather(&tlb, page_to_virt(table), TABLE_ADDR);
	kept = gathered_tables(&tlb);
	unmap_gather_flush_pages(&tlb);
	KUNIT_EXPECT_FALSE(test, tlb.freed_tables);
	KUNIT_EXPECT_EQ(test, tlb.end, 0);
	KUNIT_EXPECT_PTR_EQ(test, gathered_tables(&tlb), kept);
	tlb_finish_mmu(&tlb);
	mmput(mm);
}

static struct kunit_case unmap_batch_cases[] = {
	KUNIT_CASE(unmap_batch_edges),
	KUNIT_CASE(unmap_batch_fills),
	KUNIT_CASE(unmap_batch_gathered_aligned),
	KUNIT_CASE(unmap_batch_gathered_kept),
	{}
};

static struct kunit_suite unmap_batch_suite = {
	.name = "unmap_batch",
	.init = unmap_batch_init,
	.test_cases = unmap_batch_cases,
};

kunit_test_suite(unmap_batch_suite);

MODULE_DESCRIPTION("KUnit tests of page tables that are freed together");
MODULE_LICENSE("GPL");
