// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of empty page tables that wait, of what is remembered of those that were given back, and of
 * how the PMD of a table is found.
 */
#include <kunit/test.h>
#include <linux/list_lru.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

#include "../internal.h"
#include "../tables/table.h"
#include "../tables/tables_wait.h"
#include "table_kunit.h"

#define WAITING_ADDR	(PUD_SIZE + 7 * PMD_SIZE)

/* An mm with one empty page table, at WAITING_ADDR.  With "pressure" no worker takes it. */
struct unmap_waiting_test {
	struct mm_struct *mm;
	pmd_t *pmd;
	pte_t *table;
	struct ptdesc *desc;
};

static int unmap_waiting_init(struct kunit *test)
{
	struct unmap_waiting_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->mm = mm_alloc();
	if (!t->mm)
		return -ENOMEM;
	t->pmd = pmd_alloc(t->mm, alloc_pud(t->mm, WAITING_ADDR), WAITING_ADDR);
	if (!t->pmd || pte_alloc(t->mm, t->pmd))
		return -ENOMEM;
	t->table = (pte_t *)pmd_page_vaddr(*t->pmd);
	t->desc = virt_to_ptdesc(t->table);
	unmap_policy_store("pressure");
	return 0;
}

static void unmap_waiting_exit(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;

	unmap_policy_store("adaptive");
	if (!t || !t->mm)
		return;
	free_tables(t->mm, PUD_SIZE);
	mmput(t->mm);
}

static void let_wait(struct unmap_waiting_test *t, unsigned long addr)
{
	spinlock_t *ptl = ptep_lockptr(t->mm, t->table);

	spin_lock(ptl);
	unmap_table_wait(t->mm, t->table, addr);
	spin_unlock(ptl);
}

static bool is_listed(const struct unmap_waiting_test *t)
{
	return t->desc->__page_mapping && !list_empty(&t->desc->pt_list);
}

static void skip_if_pinned(struct kunit *test)
{
	if (UNMAP_ARCH_TABLES_PINNED)
		kunit_skip(test, "page tables are pinned");
	if (!IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE))
		kunit_skip(test, "no policy pressure: the worker would take the table");
}

/* Law 17: it is listed once, and leaves the list before it is freed. */
static void unmap_waiting_leaves_once(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;

	skip_if_pinned(test);
	KUNIT_EXPECT_EQ(test, 0UL, t->desc->__page_mapping);
	let_wait(t, WAITING_ADDR);
	KUNIT_EXPECT_TRUE(test, is_listed(t));
	KUNIT_EXPECT_EQ(test, (unsigned long)t->mm, t->desc->__page_mapping);
	let_wait(t, WAITING_ADDR + PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, is_listed(t));
	KUNIT_EXPECT_EQ(test, WAITING_ADDR + PAGE_SIZE, unmap_table_addr(t->table));
	unmap_table_leave(t->mm, ptdesc_page(t->desc));
	KUNIT_EXPECT_EQ(test, 0UL, t->desc->__page_mapping);
	KUNIT_EXPECT_TRUE(test, list_empty(&t->desc->pt_list));
	/* hugetlb takes the word for a count when it finds the page again. */
	KUNIT_EXPECT_EQ(test, 0UL, (unsigned long)t->desc->pt_index);
}

/* A table that is in use leaves the list, and comes again when it is empty. */
static void unmap_waiting_ends_in_use(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;

	skip_if_pinned(test);
	let_wait(t, WAITING_ADDR);
	unmap_table_wait_no_more(t->mm, t->table);
	KUNIT_EXPECT_EQ(test, 0UL, t->desc->__page_mapping);
	let_wait(t, WAITING_ADDR);
	KUNIT_EXPECT_TRUE(test, is_listed(t));
}

/* mremap() moves a table that waits. */
static void unmap_waiting_moves(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;

	skip_if_pinned(test);
	let_wait(t, WAITING_ADDR + PAGE_SIZE);
	unmap_table_moved(t->mm, ptdesc_page(t->desc), WAITING_ADDR + 5 * PMD_SIZE);
	KUNIT_EXPECT_EQ(test, WAITING_ADDR + 5 * PMD_SIZE, unmap_table_addr(t->table));
	KUNIT_EXPECT_LE(test, unmap_table_age(t->table), TABLE_TICKS);
	KUNIT_EXPECT_TRUE(test, is_listed(t));
}

/* Who looks at an mm without VMAs frees nothing: free_pgtables() may be at work there. */
static void unmap_waiting_needs_a_vma(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;
	int nid = page_to_nid(ptdesc_page(t->desc));
	unsigned int freed = 0;

	skip_if_pinned(test);
	let_wait(t, WAITING_ADDR);
	unmap_waiting_free(nid, NULL, list_lru_count_one(&unmap_waiting, nid, NULL), 0,
			   TABLE_BY_SHRINKER, &freed);
	KUNIT_EXPECT_TRUE(test, unmap_is_table(t->pmd));
	KUNIT_EXPECT_PTR_EQ(test, t->table, (pte_t *)pmd_page_vaddr(*t->pmd));
}

/* A young table, one whose mmap lock is taken, and one without users stay in the list. */
static void unmap_waiting_goes_on(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;
	int nid = page_to_nid(ptdesc_page(t->desc));
	unsigned int freed = 0;
	unsigned long nr;

	skip_if_pinned(test);
	let_wait(t, WAITING_ADDR);
	nr = list_lru_count_one(&unmap_waiting, nid, NULL);
	unmap_waiting_free(nid, NULL, nr, 1000 * TABLE_TICKS, TABLE_BY_SHRINKER, &freed);
	KUNIT_EXPECT_TRUE(test, is_listed(t));
	mmap_write_lock(t->mm);
	unmap_waiting_free(nid, NULL, nr, 0, TABLE_BY_SHRINKER, &freed);
	KUNIT_EXPECT_TRUE(test, is_listed(t));
	mmap_write_unlock(t->mm);
	atomic_set(&t->mm->mm_users, 0);
	unmap_waiting_free(nid, NULL, nr, 0, TABLE_BY_SHRINKER, &freed);
	KUNIT_EXPECT_TRUE(test, is_listed(t));
	atomic_set(&t->mm->mm_users, 1);
}

/* The word in the descriptor: time, address and watched entry do not disturb each other. */
static void unmap_waiting_word(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;
	const unsigned long far = (1UL << 57) - 3 * PMD_SIZE + 5 * PAGE_SIZE;

	unmap_table_stamp_at(t->table, far);
	KUNIT_EXPECT_EQ(test, far, unmap_table_addr(t->table));
	KUNIT_EXPECT_EQ(test, 5, unmap_table_watched(t->table));
	KUNIT_EXPECT_LE(test, unmap_table_age(t->table), TABLE_TICKS);
	unmap_table_watch(t->table, PTRS_PER_PTE - 1);
	KUNIT_EXPECT_EQ(test, PTRS_PER_PTE - 1, unmap_table_watched(t->table));
	KUNIT_EXPECT_EQ(test, (far | ~PMD_MASK) & PAGE_MASK, unmap_table_addr(t->table));
	KUNIT_EXPECT_LE(test, unmap_table_age(t->table), TABLE_TICKS);
	unmap_table_set_word(t->table, unmap_table_word_at(unmap_table_word(t->table), 0));
	KUNIT_EXPECT_EQ(test, ULONG_MAX, unmap_table_age(t->table));
	KUNIT_EXPECT_EQ(test, PTRS_PER_PTE - 1, unmap_table_watched(t->table));
	unmap_table_set_word(t->table, unmap_table_word_at(0, unmap_table_now() - 7));
	KUNIT_EXPECT_GE(test, unmap_table_age(t->table), 7);
	unmap_table_set_addr(t->table, WAITING_ADDR);
	KUNIT_EXPECT_EQ(test, WAITING_ADDR, unmap_table_addr(t->table));
	KUNIT_EXPECT_GE(test, unmap_table_age(t->table), 7);
}

/* A table is remembered for its mm and its place alone, and not for long. */
static void unmap_waiting_ghosts(struct kunit *test)
{
	struct unmap_waiting_test *t = test->priv;
	/* Where no other test has had a table: an mm may have the address of one that is gone. */
	unsigned long addr = 3 * PUD_SIZE + 333 * PMD_SIZE;
	unsigned int wrong = 0, i;

	KUNIT_EXPECT_FALSE(test, unmap_table_came_back(t->mm, addr));
	unmap_ghost_leave(t->mm, addr);
	KUNIT_EXPECT_TRUE(test, unmap_table_came_back(t->mm, addr));
	KUNIT_EXPECT_TRUE(test, unmap_table_came_back(t->mm, addr + PMD_SIZE - 1));
	for (i = 1; i <= 1000; i++)
		wrong += unmap_table_came_back(t->mm, addr + i * PMD_SIZE);
	KUNIT_EXPECT_LE(test, wrong, 1);
	KUNIT_EXPECT_FALSE(test, unmap_table_came_back(current->active_mm, addr));
	KUNIT_EXPECT_TRUE(test,
			  unmap_ghost_is_young(0x12340001, 0x12340001 + 10 * TABLE_TICKS - 1));
	KUNIT_EXPECT_FALSE(test, unmap_ghost_is_young(0x12340001, 0x12340001 + 10 * TABLE_TICKS));
	KUNIT_EXPECT_TRUE(test, unmap_ghost_is_young(0x1234ffff, 0x12340000));
	KUNIT_EXPECT_FALSE(test, unmap_ghost_is_young(0x12340001, 0x12350001));
	KUNIT_EXPECT_FALSE(test, unmap_ghost_is_young(0, 1));
}

/* A sweep must not take a huge page of a device for a page of PMDs. */
static void unmap_waiting_huge_pud_has_no_pmds(struct kunit *test)
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

static struct kunit_case unmap_waiting_cases[] = {
	KUNIT_CASE(unmap_waiting_leaves_once),
	KUNIT_CASE(unmap_waiting_ends_in_use),
	KUNIT_CASE(unmap_waiting_moves),
	KUNIT_CASE(unmap_waiting_needs_a_vma),
	KUNIT_CASE(unmap_waiting_goes_on),
	KUNIT_CASE(unmap_waiting_word),
	KUNIT_CASE(unmap_waiting_ghosts),
	KUNIT_CASE(unmap_waiting_huge_pud_has_no_pmds),
	{}
};

static struct kunit_suite unmap_waiting_suite = {
	.name = "unmap_waiting",
	.init = unmap_waiting_init,
	.exit = unmap_waiting_exit,
	.test_cases = unmap_waiting_cases,
};

kunit_test_suite(unmap_waiting_suite);

MODULE_DESCRIPTION("KUnit tests of empty page tables that wait");
MODULE_LICENSE("GPL");
