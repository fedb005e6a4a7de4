// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of page tables that stay because hugetlb has found entries in them (table_stays.c).
 *
 * They call the architecture's huge_pte_alloc() and huge_pte_offset(), on an mm that nobody uses.
 */
#include <kunit/test.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

#include "../internal.h"
#include "../tables/table.h"

/* The first two tables of a batch. */
#define ADDR		(TABLE_BATCH * PMD_SIZE)
#define HUGE_ADDR	(ADDR + 3 * CONT_PTE_SIZE)

struct unmap_stays_test {
	struct mm_struct *mm;
	struct vm_area_struct vma;
	struct table_batch batch;
	pmd_t *pmd;
};

static int alloc_tables(struct unmap_stays_test *t)
{
	p4d_t *p4d = p4d_alloc(t->mm, pgd_offset(t->mm, ADDR), ADDR);
	pud_t *pud = p4d ? pud_alloc(t->mm, p4d, ADDR) : NULL;

	t->pmd = pud ? pmd_alloc(t->mm, pud, ADDR) : NULL;
	if (!t->pmd || pte_alloc(t->mm, t->pmd) || pte_alloc(t->mm, t->pmd + 1))
		return -ENOMEM;
	return 0;
}

static int unmap_stays_init(struct kunit *test)
{
	struct unmap_stays_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->mm = mm_alloc();
	if (!t->mm)
		return -ENOMEM;
	t->vma.vm_mm = t->mm;
	unmap_batch_begin(&t->batch, &t->vma, NULL);
	t->batch.mmap_locked = true;
	return alloc_tables(t);
}

static void free_tables(struct unmap_stays_test *t)
{
	struct mmu_gather tlb;

	tlb_gather_mmu(&tlb, t->mm);
	free_pgd_range(&tlb, ADDR, ADDR + 2 * PMD_SIZE, 0, 0);
	tlb_finish_mmu(&tlb);
}

static void unmap_stays_exit(struct kunit *test)
{
	struct unmap_stays_test *t = test->priv;

	if (!t || !t->mm)
		return;
	free_tables(t);
	mmput(t->mm);
}

static pte_t *find(struct unmap_stays_test *t)
{
	return huge_pte_offset(t->mm, HUGE_ADDR, CONT_PTE_SIZE);
}

static pte_t *alloc(struct unmap_stays_test *t)
{
	return huge_pte_alloc(t->mm, &t->vma, HUGE_ADDR, CONT_PTE_SIZE);
}

static pte_t *table_in(pmd_t *pmd)
{
	return (pte_t *)pmd_page_vaddr(*pmd);
}

/* hugetlb finds no entry in a table in which it has allocated none. */
static void unmap_stays_finds_only_its_own(struct kunit *test)
{
	struct unmap_stays_test *t = test->priv;
	pte_t *table = table_in(t->pmd), *ptep;

	KUNIT_EXPECT_NULL(test, find(t));
	ptep = alloc(t);
	KUNIT_ASSERT_NOT_NULL(test, ptep);
	KUNIT_EXPECT_PTR_EQ(test, ptep, table + pte_index(HUGE_ADDR));
	KUNIT_EXPECT_PTR_EQ(test, find(t), ptep);
	KUNIT_EXPECT_TRUE(test, unmap_table_stays(table));
	KUNIT_EXPECT_FALSE(test, unmap_table_stays(table_in(t->pmd + 1)));
}

/* Nobody takes a table that stays for one that could be given back. */
static void unmap_stays_is_not_noticed(struct kunit *test)
{
	struct unmap_stays_test *t = test->priv;
	pte_t *table = table_in(t->pmd);

	KUNIT_EXPECT_TRUE(test, unmap_table_emptied(t->mm, table));
	KUNIT_EXPECT_TRUE(test, unmap_table_glance(t->mm, table));
	KUNIT_ASSERT_NOT_NULL(test, alloc(t));
	KUNIT_EXPECT_FALSE(test, unmap_table_emptied(t->mm, table));
	KUNIT_EXPECT_FALSE(test, unmap_table_glance(t->mm, table));
}

/* It was noted before it was marked: the mark is seen under the PMD lock. */
static void unmap_stays_when_noted_before(struct kunit *test)
{
	struct unmap_stays_test *t = test->priv;
	unsigned int freed;

	unmap_batch_note(&t->batch, t->pmd, ADDR);
	unmap_batch_note(&t->batch, t->pmd + 1, ADDR + PMD_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, alloc(t));
	mmap_read_lock(t->mm);
	freed = unmap_batch_free(&t->batch, 0);
	mmap_read_unlock(t->mm);
	KUNIT_EXPECT_EQ(test, freed, 1);
	KUNIT_EXPECT_TRUE(test, unmap_is_table(t->pmd));
	KUNIT_EXPECT_FALSE(test, unmap_is_table(t->pmd + 1));
}

/* The short way. */
static void unmap_stays_when_given_back(struct kunit *test)
{
	struct unmap_stays_test *t = test->priv;
	pte_t *table = table_in(t->pmd);
	spinlock_t *ptl = ptep_lockptr(t->mm, table);

	KUNIT_ASSERT_NOT_NULL(test, alloc(t));
	mmap_read_lock(t->mm);
	spin_lock(ptl);
	KUNIT_EXPECT_FALSE(test, unmap_table_give_back(&t->batch, t->pmd, table, ADDR, ptl, true));
	spin_unlock(ptl);
	mmap_read_unlock(t->mm);
	KUNIT_EXPECT_TRUE(test, unmap_is_table(t->pmd));
}

/* The mark goes when the table is freed. */
static void unmap_stays_until_freed(struct kunit *test)
{
	struct unmap_stays_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, alloc(t));
	free_tables(t);
	KUNIT_ASSERT_EQ(test, 0, alloc_tables(t));
	KUNIT_EXPECT_NULL(test, find(t));
	KUNIT_EXPECT_FALSE(test, unmap_table_stays(table_in(t->pmd)));
}

static struct kunit_case unmap_stays_cases[] = {
	KUNIT_CASE(unmap_stays_finds_only_its_own),
	KUNIT_CASE(unmap_stays_is_not_noticed),
	KUNIT_CASE(unmap_stays_when_noted_before),
	KUNIT_CASE(unmap_stays_when_given_back),
	KUNIT_CASE(unmap_stays_until_freed),
	{}
};

static struct kunit_suite unmap_stays_suite = {
	.name = "unmap_stays",
	.init = unmap_stays_init,
	.exit = unmap_stays_exit,
	.test_cases = unmap_stays_cases,
};

kunit_test_suite(unmap_stays_suite);

MODULE_DESCRIPTION("KUnit tests of page tables that stay because of hugetlb");
MODULE_LICENSE("GPL");
