// SPDX-License-Identifier: GPL-2.0-only
/*
 * Law 12: MMU notifiers are asked about each page, old or young, and about no more than a page
 * at a time, as in stock.  The page table is made for the test; nobody else uses it.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>

#include "../internal.h"
#include "../evict/reference.h"

#define ORDER		4
#define NR		BIT(ORDER)
#define TABLE_ADDR	(16UL << PMD_SHIFT)
#define GUEST_USED	6	/* the page that only the secondary MMU has used */

struct unmap_notifier_test {
	struct mmu_notifier notifier;
	struct vm_area_struct vma;
	struct mm_struct *mm;
	struct folio *folio;
	pte_t *table;
	unsigned int asked[NR];
	unsigned int larger;
};

/* Stands for KVM's: a guest has used one of the pages. */
static int guest_clear_young(struct mmu_notifier *notifier, struct mm_struct *mm,
			     unsigned long start, unsigned long end)
{
	struct unmap_notifier_test *t = container_of(notifier, typeof(*t), notifier);
	unsigned long i = (start - TABLE_ADDR) >> PAGE_SHIFT;

	t->larger += end - start != PAGE_SIZE;
	if (i < NR)
		t->asked[i]++;
	return i == GUEST_USED;
}

static const struct mmu_notifier_ops guest_ops = {
	.clear_flush_young = guest_clear_young,
};

static int unmap_notifier_init(struct kunit *test)
{
	struct unmap_notifier_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->folio = folio_alloc(GFP_KERNEL, ORDER);
	t->table = (pte_t *)get_zeroed_page(GFP_KERNEL);
	t->mm = mm_alloc();
	if (!t->folio || !t->table || !t->mm)
		return -ENOMEM;
	t->notifier.ops = &guest_ops;
	t->vma.vm_mm = t->mm;
	t->vma.vm_start = TABLE_ADDR;
	t->vma.vm_end = TABLE_ADDR + PMD_SIZE;
	return mmu_notifier_register(&t->notifier, t->mm);
}

static void unmap_notifier_exit(struct kunit *test)
{
	struct unmap_notifier_test *t = test->priv;

	if (!t)
		return;
	if (t->mm && mm_has_notifiers(t->mm))
		mmu_notifier_unregister(&t->notifier, t->mm);
	if (t->mm)
		mmput(t->mm);
	free_page((unsigned long)t->table);
	if (t->folio)
		folio_put(t->folio);
}

static void unmap_notifier_asked_page_by_page(struct kunit *test)
{
	struct unmap_notifier_test *t = test->priv;
	struct page_vma_mapped_walk pvmw = {
		.pfn = folio_pfn(t->folio),
		.nr_pages = NR,
		.vma = &t->vma,
	};
	unsigned int i;
	bool young;
	pte_t pte;

	if (lru_gen_enabled())
		kunit_skip(test, "MGLRU looks at the folio's LRU list");
	for (i = 0; i < NR; i++) {
		pte = pte_mkold(pfn_pte(folio_pfn(t->folio) + i, PAGE_READONLY));
		set_pte_at(&init_mm, TABLE_ADDR + i * PAGE_SIZE, t->table + i, pte);
	}
	for (i = 0; i < NR; i++) {
		pvmw.pte = t->table + i;
		pvmw.address = TABLE_ADDR + i * PAGE_SIZE;
		young = false;
		KUNIT_EXPECT_EQ(test, unmap_reference_entries(&pvmw, &young), 1);
		KUNIT_EXPECT_EQ(test, young, i == GUEST_USED);
		KUNIT_EXPECT_EQ(test, t->asked[i], 1);
	}
	KUNIT_EXPECT_EQ(test, t->larger, 0);
}

static struct kunit_case unmap_notifier_cases[] = {
	KUNIT_CASE(unmap_notifier_asked_page_by_page),
	{}
};

static struct kunit_suite unmap_notifier_suite = {
	.name = "unmap_notifier",
	.init = unmap_notifier_init,
	.exit = unmap_notifier_exit,
	.test_cases = unmap_notifier_cases,
};

kunit_test_suite(unmap_notifier_suite);
