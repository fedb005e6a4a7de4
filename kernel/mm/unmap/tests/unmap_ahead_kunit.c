// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which folios are unmapped ahead: a list of single pages as reclaim has it, and a page table
 * made for the tests that maps them.
 *
 * The folios are made to look like page cache, or like lazyfree memory.  Nobody else uses
 * them or the table, so no page-table lock is taken.
 */
#include <kunit/test.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>

#include "../compat_lru.h"
#include "../ahead/ahead.h"
#include "../internal.h"
#include "../knobs.h"

#define NR		(UNMAP_AHEAD_MAX + 5)
#define TABLE_ADDR	(16UL << PMD_SHIFT)

struct unmap_ahead_test {
	struct vm_area_struct vma;
	struct address_space mapping, other;
	struct unmap_op op;
	struct unmap_ahead ahead;
	struct list_head rest;
	struct folio *folios[NR];
	pte_t *table;
	unsigned int max_run;
};

/* A clean, old, read-only entry for the @i-th folio. */
static pte_t plain_pte(struct unmap_ahead_test *t, unsigned int i)
{
	pte_t pte = pfn_pte(folio_pfn(t->folios[i]), PAGE_READONLY);

	return pte_clear_soft_dirty(pte_mkold(pte_mkclean(pte_wrprotect(pte))));
}

static void put_entry(struct unmap_ahead_test *t, unsigned int at, pte_t pte)
{
	unsigned long addr = TABLE_ADDR + at * PAGE_SIZE;

	pte_clear(&init_mm, addr, t->table + at);
	set_pte_at(&init_mm, addr, t->table + at, pte);
}

/* Map all folios, as far as the table goes, from entry @at on, and list them. */
static void map_all(struct unmap_ahead_test *t, unsigned int at)
{
	unsigned int i;

	INIT_LIST_HEAD(&t->rest);
	for (i = 0; i < NR; i++) {
		t->folios[i]->index = i;
		t->folios[i]->mapping = &t->mapping;
		atomic_set(&t->folios[i]->_mapcount, 0);
		if (i)
			list_add(&t->folios[i]->lru, &t->rest);
		if (at + i < PTRS_PER_PTE)
			put_entry(t, at + i, plain_pte(t, i));
	}
	t->op.folio = t->folios[0];
	t->op.run = (struct pte_run) {
		.ptep = t->table + at,
		.addr = TABLE_ADDR + at * PAGE_SIZE,
		.nr = 1,
		.pte = plain_pte(t, 0),
		.page = folio_page(t->folios[0], 0),
	};
}

/* How many successors are taken.  They are locked, and no other folio is. */
static unsigned int collect(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;
	unsigned int i, nr;

	t->ahead.nr = 0;
	t->ahead.rest = &t->rest;
	t->ahead.next = t->rest.prev;
	if (!unmap_ahead_suits(&t->op, &t->ahead))
		return 0;
	unmap_ahead_collect(&t->op, &t->ahead);
	nr = t->ahead.nr;
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_PTR_EQ(test, t->ahead.taken[i].folio, t->folios[i + 1]);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ(test, folio_test_locked(t->folios[i]), i && i <= nr);
	unmap_ahead_end(&t->ahead);
	return nr;
}

static int unmap_ahead_init(struct kunit *test)
{
	struct unmap_ahead_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	unsigned int i;

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->max_run = unmap_max_run;
	WRITE_ONCE(unmap_max_run, PTRS_PER_PTE);
	t->vma.vm_mm = &init_mm;
	t->vma.vm_start = TABLE_ADDR;
	t->vma.vm_end = TABLE_ADDR + 2 * PMD_SIZE;
	t->op.vma = &t->vma;
	t->ahead.flags = TTU_BATCH_FLUSH;
	t->table = (pte_t *)get_zeroed_page(GFP_KERNEL);
	if (!t->table)
		return -ENOMEM;
	for (i = 0; i < NR; i++) {
		t->folios[i] = folio_alloc(GFP_KERNEL, 0);
		if (!t->folios[i])
			return -ENOMEM;
	}
	map_all(t, 0);
	return 0;
}

static void unmap_ahead_exit(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;
	unsigned int i;

	if (!t)
		return;
	WRITE_ONCE(unmap_max_run, t->max_run);
	free_page((unsigned long)t->table);
	for (i = 0; i < NR && t->folios[i]; i++) {
		t->folios[i]->mapping = NULL;
		atomic_set(&t->folios[i]->_mapcount, -1);
		folio_put(t->folios[i]);
	}
}

static void unmap_ahead_takes_up_to_31(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, collect(test), UNMAP_AHEAD_MAX);
}

static void unmap_ahead_ends_with_table(struct kunit *test)
{
	map_all(test->priv, PTRS_PER_PTE - 6);
	KUNIT_EXPECT_EQ(test, collect(test), 5);
	map_all(test->priv, PTRS_PER_PTE - 1);
	KUNIT_EXPECT_EQ(test, collect(test), 0);
}

static void unmap_ahead_ends_with_vma(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	t->vma.vm_end = TABLE_ADDR + 8 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, collect(test), 7);
}

static void unmap_ahead_ends_with_list(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	while (t->rest.next != &t->folios[4]->lru)
		list_del(t->rest.next);
	KUNIT_EXPECT_EQ(test, collect(test), 4);
}

static void unmap_ahead_obeys_max_run(struct kunit *test)
{
	WRITE_ONCE(unmap_max_run, 4);
	KUNIT_EXPECT_EQ(test, collect(test), 3);
	WRITE_ONCE(unmap_max_run, 1);
	KUNIT_EXPECT_EQ(test, collect(test), 0);
}

/* Only the PFN tells what an entry maps. */
static void unmap_ahead_compares_pages(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	put_entry(t, 7, plain_pte(t, 8));
	KUNIT_EXPECT_EQ(test, collect(test), 6);
	pte_clear(&init_mm, TABLE_ADDR + 3 * PAGE_SIZE, t->table + 3);
	KUNIT_EXPECT_EQ(test, collect(test), 2);
}

static void unmap_ahead_compares_bits(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	put_entry(t, 9, pte_mkdirty(plain_pte(t, 9)));
	KUNIT_EXPECT_EQ(test, collect(test), 8);
	put_entry(t, 5, pte_mkwrite_novma(plain_pte(t, 5)));
	KUNIT_EXPECT_EQ(test, collect(test), 4);
	if (!IS_ENABLED(CONFIG_MEM_SOFT_DIRTY))
		return;
	put_entry(t, 3, pte_mksoft_dirty(plain_pte(t, 3)));
	KUNIT_EXPECT_EQ(test, collect(test), 2);
}

/* What its first entry had does not matter, as far as hardware sets it. */
static void unmap_ahead_follows_dirty_first(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	t->op.run.pte = pte_mkyoung(pte_mkdirty(t->op.run.pte));
	if (pte_soft_dirty(t->op.run.pte))
		t->op.run.pte = pte_clear_soft_dirty(t->op.run.pte);
	KUNIT_EXPECT_EQ(test, collect(test), UNMAP_AHEAD_MAX);
}

static void unmap_ahead_refuses_folios(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	atomic_set(&t->folios[9]->_mapcount, 1);
	KUNIT_EXPECT_EQ(test, collect(test), 8);
	t->folios[8]->mapping = &t->other;
	KUNIT_EXPECT_EQ(test, collect(test), 7);
	set_bit(PG_writeback, compat_folio_flags(t->folios[7]));
	KUNIT_EXPECT_EQ(test, collect(test), 6);
	set_bit(PG_mlocked, compat_folio_flags(t->folios[6]));
	KUNIT_EXPECT_EQ(test, collect(test), 5);
	folio_ref_add(t->folios[4], GUP_PIN_COUNTING_BIAS);
	KUNIT_EXPECT_EQ(test, collect(test), 3);

	folio_ref_sub(t->folios[4], GUP_PIN_COUNTING_BIAS);
	clear_bit(PG_mlocked, compat_folio_flags(t->folios[6]));
	clear_bit(PG_writeback, compat_folio_flags(t->folios[7]));
}

static void unmap_ahead_never_waits(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	folio_lock(t->folios[3]);
	t->ahead.nr = 0;
	t->ahead.rest = &t->rest;
	t->ahead.next = t->rest.prev;
	KUNIT_EXPECT_TRUE(test, unmap_ahead_suits(&t->op, &t->ahead));
	unmap_ahead_collect(&t->op, &t->ahead);
	KUNIT_EXPECT_EQ(test, t->ahead.nr, 2);
	unmap_ahead_end(&t->ahead);
	folio_unlock(t->folios[3]);
}

static void unmap_ahead_refuses_vmas(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	vm_flags_init(&t->vma, VM_LOCKED);
	KUNIT_EXPECT_EQ(test, collect(test), 0);
	vm_flags_init(&t->vma, VM_PFNMAP);
	KUNIT_EXPECT_EQ(test, collect(test), 0);
	if (IS_ENABLED(CONFIG_USERFAULTFD)) {
		vm_flags_init(&t->vma, VM_UFFD_WP);
		KUNIT_EXPECT_EQ(test, collect(test), 0);
	}
	vm_flags_init(&t->vma, 0);
	KUNIT_EXPECT_EQ(test, collect(test), UNMAP_AHEAD_MAX);
}

static void unmap_ahead_judges_references(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;

	put_entry(t, 7, pte_mkyoung(plain_pte(t, 7)));
	folio_set_referenced(t->folios[5]);
	KUNIT_EXPECT_EQ(test, collect(test), UNMAP_AHEAD_MAX);
	t->ahead.references = true;
	/* Without MGLRU the loop looks at PG_referenced itself. */
	KUNIT_EXPECT_EQ(test, collect(test), lru_gen_enabled() ? 4 : 6);
	folio_clear_referenced(t->folios[5]);
	KUNIT_EXPECT_EQ(test, collect(test), 6);
}

static void unmap_ahead_takes_lazyfree(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < NR; i++) {
		t->folios[i]->mapping = (void *)((unsigned long)&t->mapping |
						 FOLIO_MAPPING_ANON);
		folio_clear_swapbacked(t->folios[i]);
	}
	KUNIT_EXPECT_EQ(test, collect(test), UNMAP_AHEAD_MAX);
	folio_set_swapbacked(t->folios[9]);
	KUNIT_EXPECT_EQ(test, collect(test), 8);
	set_bit(PG_dirty, compat_folio_flags(t->folios[6]));
	KUNIT_EXPECT_EQ(test, collect(test), 5);
	t->folios[4]->mapping = &t->mapping;
	KUNIT_EXPECT_EQ(test, collect(test), 3);

	folio_clear_swapbacked(t->folios[9]);
	clear_bit(PG_dirty, compat_folio_flags(t->folios[6]));
}

static void pretend_swap(struct unmap_ahead_test *t, bool swap)
{
	unsigned int i;

	for (i = 0; i < NR; i++) {
		t->folios[i]->mapping = (void *)((unsigned long)&t->mapping |
						 FOLIO_MAPPING_ANON);
		if (swap)
			folio_set_swapbacked(t->folios[i]);
		else
			folio_clear_swapbacked(t->folios[i]);
	}
}

/* How many of the folios behind the successors need nothing but a swap entry. */
static unsigned int look(struct unmap_ahead_test *t, unsigned int nr)
{
	t->ahead.rest = &t->rest;
	t->ahead.next = t->rest.prev;
	t->ahead.nr = nr;
	t->ahead.wanted = 0;
	if (nr)
		t->ahead.taken[nr - 1].folio = t->folios[nr];
	unmap_ahead_look(&t->op, &t->ahead, PTRS_PER_PTE - 1 - nr);
	t->ahead.nr = 0;
	nr = t->ahead.wanted;
	t->ahead.wanted = 0;
	return nr;
}

/* In the swap cache folios may go, dirty or not; others may get a swap entry. */
static void unmap_ahead_takes_swap_cache(struct kunit *test)
{
	struct unmap_ahead_test *t = test->priv;
	unsigned int i;

	if (!IS_ENABLED(CONFIG_UNMAP_AHEAD_SWAP))
		kunit_skip(test, "no swap");
	pretend_swap(t, true);
	put_entry(t, 2, pte_mkdirty(plain_pte(t, 2)));
	if (pte_soft_dirty(ptep_get(t->table + 2)))
		put_entry(t, 2, pte_clear_soft_dirty(ptep_get(t->table + 2)));
	KUNIT_EXPECT_EQ(test, collect(test), 0);
	KUNIT_EXPECT_EQ(test, look(t, 0), UNMAP_AHEAD_MAX);
	for (i = 1; i < 6; i++)
		folio_set_swapcache(t->folios[i]);
	KUNIT_EXPECT_EQ(test, collect(test), 5);
	KUNIT_EXPECT_EQ(test, look(t, 5), NR - 6);
	KUNIT_EXPECT_EQ(test, look(t, 0), 0);

	t->ahead.references = true;
	put_entry(t, 9, pte_mkyoung(plain_pte(t, 9)));
	KUNIT_EXPECT_EQ(test, look(t, 5), 3);
	for (i = 1; i < 6; i++)
		folio_clear_swapcache(t->folios[i]);
	pretend_swap(t, false);
}

static struct kunit_case unmap_ahead_cases[] = {
	KUNIT_CASE(unmap_ahead_takes_up_to_31),
	KUNIT_CASE(unmap_ahead_ends_with_table),
	KUNIT_CASE(unmap_ahead_ends_with_vma),
	KUNIT_CASE(unmap_ahead_ends_with_list),
	KUNIT_CASE(unmap_ahead_obeys_max_run),
	KUNIT_CASE(unmap_ahead_compares_pages),
	KUNIT_CASE(unmap_ahead_compares_bits),
	KUNIT_CASE(unmap_ahead_follows_dirty_first),
	KUNIT_CASE(unmap_ahead_refuses_folios),
	KUNIT_CASE(unmap_ahead_never_waits),
	KUNIT_CASE(unmap_ahead_refuses_vmas),
	KUNIT_CASE(unmap_ahead_judges_references),
	KUNIT_CASE(unmap_ahead_takes_lazyfree),
	KUNIT_CASE(unmap_ahead_takes_swap_cache),
	{}
};

static struct kunit_suite unmap_ahead_suite = {
	.name = "unmap_ahead",
	.init = unmap_ahead_init,
	.exit = unmap_ahead_exit,
	.test_cases = unmap_ahead_cases,
};

kunit_test_suite(unmap_ahead_suite);

MODULE_DESCRIPTION("KUnit tests of unmapping ahead");
MODULE_LICENSE("GPL");
