// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the short way to free the only empty page table of a pass: it is given back at once.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

#include "../internal.h"
#include "../tables/policy.h"
#include "../tables/table.h"
#include "table_kunit.h"

/* A pass over the empty table at GIVEN_ADDR, which is about to give it back. */
#define GIVEN_ADDR	(PUD_SIZE + 7 * PMD_SIZE)

struct giving {
	struct mm_struct *mm;
	struct vm_area_struct vma;
	struct mmu_gather tlb;
	struct table_batch batch;
	pmd_t *pmd;
	pte_t *table;
	spinlock_t *pml, *ptl;
};

static struct giving *giving_begin(struct kunit *test)
{
	struct giving *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, g);
	g->mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, g->mm);
	g->pmd = pmd_alloc(g->mm, alloc_pud(g->mm, GIVEN_ADDR), GIVEN_ADDR);
	KUNIT_ASSERT_NOT_NULL(test, g->pmd);
	KUNIT_ASSERT_EQ(test, 0, pte_alloc(g->mm, g->pmd));
	g->table = (pte_t *)pmd_page_vaddr(*g->pmd);
	g->pml = pmd_lockptr(g->mm, g->pmd);
	g->ptl = ptep_lockptr(g->mm, g->table);
	g->vma.vm_mm = g->mm;
	mmap_read_lock(g->mm);
	tlb_gather_mmu(&g->tlb, g->mm);
	unmap_batch_begin(&g->batch, &g->vma, &g->tlb);
	g->batch.mmap_locked = true;
	return g;
}

static void giving_end(struct giving *g)
{
	tlb_finish_mmu(&g->tlb);
	mmap_read_unlock(g->mm);
	free_tables(g->mm, PUD_SIZE);
	mmput(g->mm);
}

static bool give_back(struct giving *g, bool whole)
{
	bool done;

	spin_lock(g->ptl);
	done = unmap_table_give_back(&g->batch, g->pmd, g->table, GIVEN_ADDR, g->ptl, whole);
	spin_unlock(g->ptl);
	return done;
}

/* Law 7: it is unhooked and flushed at once; law 11: with a mark, unless one call emptied it. */
static void unmap_give_back_at_once(struct kunit *test)
{
	struct giving *g;
	int whole;

	if (UNMAP_ARCH_TABLES_PINNED)
		kunit_skip(test, "page tables are pinned");
	for (whole = 0; whole < 2; whole++) {
		g = giving_begin(test);
		KUNIT_EXPECT_TRUE(test, give_back(g, whole));
		KUNIT_EXPECT_TRUE(test, pmd_none(*g->pmd));
		KUNIT_EXPECT_EQ(test, unmap_pmd_marked(*g->pmd),
				!whole && unmap_pmd_marked(unmap_marked_pmd()));
		/* Nothing is left to be flushed. */
		KUNIT_EXPECT_EQ(test, 0UL, g->tlb.end);
		unmap_table_free(&g->batch, g->table, GIVEN_ADDR);
		KUNIT_EXPECT_EQ(test, 0UL, g->batch.empty);
		giving_end(g);
	}
}

/* The PMD lock is not waited for: its holders may wait for the table's lock. */
static void unmap_give_back_keeps_if_pmd_lock_is_taken(struct kunit *test)
{
	struct giving *g = giving_begin(test);

	if (g->pml != g->ptl) {
		spin_lock(g->pml);
		spin_lock_nested(g->ptl, SINGLE_DEPTH_NESTING);
		KUNIT_EXPECT_FALSE(test, unmap_table_give_back(&g->batch, g->pmd, g->table,
							       GIVEN_ADDR, g->ptl, true));
		spin_unlock(g->ptl);
		spin_unlock(g->pml);
		KUNIT_EXPECT_TRUE(test, unmap_is_table(g->pmd));
	}
	giving_end(g);
}

/* What the short way leaves to the batch. */
static void unmap_give_back_keeps_if_not_alone(struct kunit *test)
{
	struct giving *g = giving_begin(test);

	g->batch.mmap_locked = false;
	KUNIT_EXPECT_FALSE(test, give_back(g, true));
	g->batch.mmap_locked = true;
	unmap_batch_note(&g->batch, g->pmd - 1, GIVEN_ADDR - PMD_SIZE);
	KUNIT_EXPECT_FALSE(test, give_back(g, true));
	unmap_batch_begin(&g->batch, &g->vma, &g->tlb);
	g->batch.mmap_locked = true;
	if (IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE)) {
		unmap_policy_store("pressure");
		KUNIT_EXPECT_FALSE(test, give_back(g, true));
		unmap_policy_store("adaptive");
	}
	KUNIT_EXPECT_TRUE(test, unmap_is_table(g->pmd));
	giving_end(g);
}

static struct kunit_case unmap_give_back_cases[] = {
	KUNIT_CASE(unmap_give_back_at_once),
	KUNIT_CASE(unmap_give_back_keeps_if_pmd_lock_is_taken),
	KUNIT_CASE(unmap_give_back_keeps_if_not_alone),
	{}
};

static struct kunit_suite unmap_give_back_suite = {
	.name = "unmap_give_back",
	.test_cases = unmap_give_back_cases,
};

kunit_test_suite(unmap_give_back_suite);

MODULE_DESCRIPTION("KUnit tests of page tables that are given back at once");
MODULE_LICENSE("GPL");
