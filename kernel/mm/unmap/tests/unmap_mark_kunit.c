// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of marks, which say that a page table was freed here (law 11).
 *
 * A table for init_mm: page-table checking and TLB flushing ignore it, and no other code uses it.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/mm.h>

#include <asm/pgalloc.h>

#include "../internal.h"
#include "../tables/table.h"

struct unmap_mark_test {
	pte_t *table;
	pmd_t pmd;
};

static int unmap_mark_init(struct kunit *test)
{
	struct unmap_mark_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->table = pte_alloc_one_kernel(&init_mm);
	return t->table ? 0 : -ENOMEM;
}

static void unmap_mark_exit(struct kunit *test)
{
	struct unmap_mark_test *t = test->priv;

	if (t && t->table)
		pte_free_kernel(&init_mm, t->table);
}

/* Law 11: a marked PMD is none to all tests, and any entry installed overwrites the mark. */
static void unmap_mark_is_left(struct kunit *test)
{
	struct unmap_mark_test *t = test->priv;
	pmd_t *pmd = &t->pmd;

	if (!unmap_pmd_marked(unmap_marked_pmd()))
		kunit_skip(test, "no bit for it in this architecture's PMDs");
	pmd_populate_kernel(&init_mm, pmd, t->table);
	KUNIT_EXPECT_FALSE(test, unmap_pmd_untouched(*pmd));
	unmap_pmd_unhook(&init_mm, pmd, true);
	KUNIT_EXPECT_TRUE(test, pmd_none(*pmd));
	KUNIT_EXPECT_FALSE(test, pmd_present(*pmd) || pmd_leaf(*pmd));
	KUNIT_EXPECT_TRUE(test, unmap_pmd_marked(*pmd));
	KUNIT_EXPECT_FALSE(test, unmap_pmd_untouched(*pmd));

	pmd_populate_kernel(&init_mm, pmd, t->table);
	KUNIT_EXPECT_FALSE(test, unmap_pmd_marked(*pmd));
	unmap_pmd_unmapped(pmd);
	KUNIT_EXPECT_TRUE(test, unmap_is_table(pmd));

	unmap_pmd_unhook(&init_mm, pmd, true);
	unmap_pmd_unmapped(pmd);
	KUNIT_EXPECT_TRUE(test, unmap_pmd_untouched(*pmd));
}

static void unmap_mark_is_not_left(struct kunit *test)
{
	struct unmap_mark_test *t = test->priv;

	pmd_populate_kernel(&init_mm, &t->pmd, t->table);
	unmap_pmd_unhook(&init_mm, &t->pmd, false);
	KUNIT_EXPECT_TRUE(test, unmap_pmd_untouched(t->pmd));
}

/* Mark all PMDs of a page, then remove the marks of a range; those outside stay. */
static void expect_forgotten(struct kunit *test, struct mm_struct *mm, pmd_t *pmds,
			     unsigned int from, unsigned int to, unsigned long addr,
			     unsigned long end)
{
	unsigned int i;
	pud_t pud;

	pud_populate(mm, &pud, pmds);
	for (i = 0; i < PTRS_PER_PMD; i++)
		set_pmd(pmds + i, unmap_marked_pmd());
	__unmap_pmds_forget(mm, &pud, addr, end);
	for (i = 0; i < PTRS_PER_PMD; i++)
		KUNIT_ASSERT_EQ(test, unmap_pmd_marked(pmds[i]), i < from || i >= to);
}

/*
 * Only PMDs that lie wholly in the range lose their marks.  Not with init_mm, whose pages of
 * PMDs have no lock of their own in Linux 7.3.
 */
static void unmap_mark_is_forgotten(struct kunit *test)
{
	const unsigned long base = PUD_SIZE, end = base + PUD_SIZE;
	struct mm_struct *mm;
	pmd_t *pmds;

	if (!unmap_pmd_marked(unmap_marked_pmd()))
		kunit_skip(test, "no bit for it in this architecture's PMDs");
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	pmds = pmd_alloc_one(mm, base);
	KUNIT_ASSERT_NOT_NULL(test, pmds);
	expect_forgotten(test, mm, pmds, 0, PTRS_PER_PMD, base, end);
	expect_forgotten(test, mm, pmds, 1, PTRS_PER_PMD - 1, base + PAGE_SIZE, end - PAGE_SIZE);
	expect_forgotten(test, mm, pmds, 7, 8, base + 7 * PMD_SIZE, base + 8 * PMD_SIZE);
	expect_forgotten(test, mm, pmds, 0, 0, base + PAGE_SIZE, base + 2 * PMD_SIZE - PAGE_SIZE);
	expect_forgotten(test, mm, pmds, 0, 0, base + PAGE_SIZE, base + 2 * PAGE_SIZE);
	memset(pmds, 0, PAGE_SIZE);
	pmd_free(mm, pmds);
	mmput(mm);
}

/* Note a table, which others have freed with a mark, and try to free it. */
static bool mark_stays(struct mm_struct *mm, pmd_t *pmds, bool whole)
{
	struct vm_area_struct vma = { .vm_mm = mm };
	const unsigned long base = TABLE_BATCH * PMD_SIZE;
	struct table_batch batch;

	set_pmd(pmds, unmap_marked_pmd());
	unmap_batch_begin(&batch, &vma, NULL);
	unmap_batch_note(&batch, pmds, base);
	if (whole)
		unmap_batch_note_whole(&batch, base);
	mmap_read_lock(mm);
	batch.mmap_locked = true;
	unmap_batch_free(&batch, 0);
	mmap_read_unlock(mm);
	return unmap_pmd_marked(*pmds);
}

/* Law 11: after a MADV_DONTNEED of a whole table there is no mark, whoever has freed the table. */
static void unmap_mark_goes_with_whole(struct kunit *test)
{
	struct mm_struct *mm;
	pmd_t *pmds;

	if (!unmap_pmd_marked(unmap_marked_pmd()))
		kunit_skip(test, "no bit for it in this architecture's PMDs");
	mm = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, mm);
	pmds = pmd_alloc_one(mm, 0);
	KUNIT_ASSERT_NOT_NULL(test, pmds);
	KUNIT_EXPECT_TRUE(test, mark_stays(mm, pmds, false));
	KUNIT_EXPECT_FALSE(test, mark_stays(mm, pmds, true));
	memset(pmds, 0, PAGE_SIZE);
	pmd_free(mm, pmds);
	mmput(mm);
}

static struct kunit_case unmap_mark_cases[] = {
	KUNIT_CASE(unmap_mark_is_left),
	KUNIT_CASE(unmap_mark_is_not_left),
	KUNIT_CASE(unmap_mark_is_forgotten),
	KUNIT_CASE(unmap_mark_goes_with_whole),
	{}
};

static struct kunit_suite unmap_mark_suite = {
	.name = "unmap_mark",
	.init = unmap_mark_init,
	.exit = unmap_mark_exit,
	.test_cases = unmap_mark_cases,
};

kunit_test_suite(unmap_mark_suite);

MODULE_DESCRIPTION("KUnit tests of marks of freed page tables");
MODULE_LICENSE("GPL");
