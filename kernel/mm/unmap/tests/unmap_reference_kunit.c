// SPDX-License-Identifier: GPL-2.0-only
/*
 * Law 12: a run of entries is aged as entry by entry would age it, and nothing beyond it is.
 *
 * The page table is made for the tests and two pages long: the folio's pages go on behind the end
 * of the first.  The mm is init_mm, so that nothing is flushed or checked.  Nobody else uses the
 * table, so no lock is taken.  MGLRU is tested by system calls: it wants a folio of an LRU list.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/rmap.h>
#include <linux/swapops.h>

#include "../internal.h"
#include "../knobs.h"
#include "../evict/reference.h"

#define ORDER		4
#define NR		BIT(ORDER)
#define TABLE_ADDR	(16UL << PMD_SHIFT)
#define TABLE_ORDER	1
#define TABLE_ENTRIES	(PTRS_PER_PTE << TABLE_ORDER)

struct unmap_reference_test {
	struct vm_area_struct vma;
	struct page_vma_mapped_walk pvmw;
	struct folio *folio;
	pte_t *table;
	unsigned int max_run;
};

static int unmap_reference_init(struct kunit *test)
{
	struct unmap_reference_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->folio = folio_alloc(GFP_KERNEL, ORDER);
	t->table = (pte_t *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, TABLE_ORDER);
	t->vma.vm_mm = &init_mm;
	t->vma.vm_start = TABLE_ADDR;
	t->vma.vm_end = TABLE_ADDR + TABLE_ENTRIES * PAGE_SIZE;
	t->max_run = unmap_max_run;
	WRITE_ONCE(unmap_max_run, PTRS_PER_PTE);
	test->priv = t;
	if (!t->folio || !t->table)
		return -ENOMEM;
	if (lru_gen_enabled())
		kunit_skip(test, "MGLRU looks at the folio's LRU list");
	return 0;
}

static void unmap_reference_exit(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;

	if (!t)
		return;
	WRITE_ONCE(unmap_max_run, t->max_run);
	free_pages((unsigned long)t->table, TABLE_ORDER);
	if (t->folio)
		folio_put(t->folio);
}

/* An old, clean, read-only entry for the folio's @i-th page. */
static pte_t old_pte(struct unmap_reference_test *t, unsigned int i)
{
	pte_t pte = pfn_pte(folio_pfn(t->folio) + i, PAGE_READONLY);

	return pte_clear_soft_dirty(pte_mkold(pte_mkclean(pte_wrprotect(pte))));
}

static void put_entry(struct unmap_reference_test *t, unsigned int i, pte_t pte)
{
	unsigned long addr = TABLE_ADDR + i * PAGE_SIZE;

	pte_clear(&init_mm, addr, t->table + i);
	set_pte_at(&init_mm, addr, t->table + i, pte);
}

static bool is_young(struct unmap_reference_test *t, unsigned int i)
{
	return pte_young(ptep_get(t->table + i));
}

/* Map @nr pages from entry @at on, all young: those of the folio, and then those behind it. */
static void map_young(struct unmap_reference_test *t, unsigned int at, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		put_entry(t, at + i, pte_mkyoung(old_pte(t, i)));
}

/* Let the walk be at entry @at, where the folio's @i-th page is mapped or was expected. */
static void walk_to(struct unmap_reference_test *t, unsigned int at, unsigned int i)
{
	t->vma.vm_pgoff = i > at ? i - at : 0;
	t->pvmw = (struct page_vma_mapped_walk) {
		.pfn = folio_pfn(t->folio),
		.nr_pages = NR,
		.pgoff = at > i ? at - i : 0,
		.vma = &t->vma,
		.address = TABLE_ADDR + at * PAGE_SIZE,
		.pte = t->table + at,
	};
}

/* Age from entry @at on.  Returns the length of the run. */
static unsigned int age(struct unmap_reference_test *t, unsigned int at, unsigned int i,
			bool *young)
{
	walk_to(t, at, i);
	*young = false;
	return unmap_reference_entries(&t->pvmw, young);
}

static void expect_aged(struct kunit *test, unsigned int at, unsigned int i, unsigned int nr)
{
	struct unmap_reference_test *t = test->priv;
	unsigned int k;
	bool young;

	KUNIT_EXPECT_EQ(test, age(t, at, i, &young), nr);
	KUNIT_EXPECT_TRUE(test, young);
	KUNIT_EXPECT_PTR_EQ(test, t->pvmw.pte, t->table + at + nr - 1);
	KUNIT_EXPECT_EQ(test, t->pvmw.address, TABLE_ADDR + (at + nr - 1) * PAGE_SIZE);
	for (k = 0; k < nr; k++)
		KUNIT_EXPECT_FALSE_MSG(test, is_young(t, at + k), "entry %u", at + k);
	KUNIT_EXPECT_TRUE(test, is_young(t, at + nr));
	KUNIT_EXPECT_TRUE(test, !at || is_young(t, at - 1));
}

static void unmap_reference_whole_folio(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;

	map_young(t, 0, 2 * NR);
	map_young(t, 3, 2 * NR);
	expect_aged(test, 3, 0, NR);
	map_young(t, 3, 2 * NR);
	expect_aged(test, 3 + 5, 5, NR - 5);
}

static void unmap_reference_ends_with_table(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;
	const unsigned int end = PTRS_PER_PTE;

	map_young(t, end - 5, 2 * NR);
	expect_aged(test, end - 4, 1, 4);
	map_young(t, end - 5, 2 * NR);
	expect_aged(test, end, 5, NR - 5);
}

static void unmap_reference_ends_with_vma(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;

	map_young(t, 0, 2 * NR);
	t->vma.vm_end = TABLE_ADDR + 7 * PAGE_SIZE;
	expect_aged(test, 0, 0, 7);
}

/* Where entries map other pages of the folio than pgoff says, the walk ends with pgoff. */
static void unmap_reference_ends_with_walk(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;

	map_young(t, 0, 2 * NR);
	expect_aged(test, 0, 6, NR - 6);
}

static void unmap_reference_obeys_max_run(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;

	map_young(t, 0, 2 * NR);
	WRITE_ONCE(unmap_max_run, 5);
	expect_aged(test, 0, 0, 5);
	WRITE_ONCE(unmap_max_run, 1);
	map_young(t, 0, 2 * NR);
	expect_aged(test, 5, 5, 1);
}

/* Whichever entry is young, it is found and aged. */
static void unmap_reference_finds_each(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;
	unsigned int from, odd, i;
	bool young;

	for (odd = 0; odd < NR; odd++) {
		for (from = 0; from < NR; from++) {
			for (i = 0; i < NR; i++)
				put_entry(t, i, old_pte(t, i));
			put_entry(t, odd, pte_mkyoung(old_pte(t, odd)));
			KUNIT_EXPECT_EQ(test, age(t, from, from, &young), NR - from);
			KUNIT_EXPECT_EQ(test, young, from <= odd);
			KUNIT_EXPECT_EQ(test, is_young(t, odd), from > odd);
		}
	}
}

static void unmap_reference_finds_none(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;
	unsigned int i;
	bool young;

	for (i = 0; i < NR; i++)
		put_entry(t, i, old_pte(t, i));
	KUNIT_EXPECT_EQ(test, age(t, 0, 0, &young), NR);
	KUNIT_EXPECT_FALSE(test, young);
}

static void unmap_reference_of_nonpresent_is_one(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;
	pte_t pte = swp_entry_to_pte(make_device_exclusive_entry(folio_pfn(t->folio)));
	bool young;

	map_young(t, 0, NR);
	put_entry(t, 0, pte);
	KUNIT_EXPECT_EQ(test, age(t, 0, 0, &young), 1);
	KUNIT_EXPECT_FALSE(test, young);
	KUNIT_EXPECT_TRUE(test, pte_same(ptep_get(t->table), pte));
	KUNIT_EXPECT_TRUE(test, is_young(t, 1));
}

/* x86 inverts the PFN of PROT_NONE entries (L1TF): it decreases from page to page. */
static void unmap_reference_goes_forward(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;
	unsigned long pfn = folio_pfn(t->folio);
	unsigned int i;
	bool young;

	for (i = 0; i < NR; i++)
		put_entry(t, i, pte_mkold(pfn_pte(pfn + i, PAGE_NONE)));
	KUNIT_EXPECT_EQ(test, age(t, 0, 0, &young), NR);
	for (i = 0; i < NR; i++)
		put_entry(t, i, pte_mkold(pfn_pte(pfn + NR - 1 - i, PAGE_NONE)));
	KUNIT_EXPECT_EQ(test, age(t, 0, 0, &young), 1);
	for (i = 0; i < NR; i++)
		put_entry(t, i, pte_mkold(pfn_pte(pfn + NR - 1 - i, PAGE_READONLY)));
	KUNIT_EXPECT_EQ(test, age(t, 0, 0, &young), 1);
}

/* An entry with bits chosen at random: nothing, another page, or the @i-th page. */
static pte_t random_pte(struct unmap_reference_test *t, unsigned int i, u32 bits)
{
	pte_t pte = old_pte(t, i + (bits % 16 == 1));

	if (bits % 16 == 0)
		return __pte(0);
	if (bits & BIT(8))
		pte = pte_mkwrite_novma(pte);
	if (bits & BIT(9))
		pte = pte_mkdirty(pte);
	if (bits & BIT(10))
		pte = pte_mksoft_dirty(pte);
	if (!(bits & (BIT(11) | BIT(12))))
		pte = pte_mkyoung(pte);
	return pte;
}

/* What entry by entry does from entry @at on, to @was.  Returns how many entries it passes. */
static unsigned int age_model(struct unmap_reference_test *t, pte_t *was, unsigned int at,
			      bool *young)
{
	unsigned int i;

	*young = false;
	for (i = at; i < NR; i++) {
		if (!pte_present(was[i]) ||
		    pte_pfn(was[i]) != pte_pfn(was[at]) + i - at ||
		    pte_pfn(was[i]) >= folio_pfn(t->folio) + NR)
			break;
		*young |= !!pte_young(was[i]);
		was[i] = pte_mkold(was[i]);
	}
	return i - at;
}

static void unmap_reference_is_exact(struct kunit *test)
{
	struct unmap_reference_test *t = test->priv;
	unsigned int round, i, at;
	bool young, expected;
	struct rnd_state rnd;
	pte_t want[NR];

	for (round = 0; round < 2000; round++) {
		prandom_seed_state(&rnd, round);
		for (i = 0; i < NR; i++) {
			want[i] = random_pte(t, i, prandom_u32_state(&rnd));
			put_entry(t, i, want[i]);
		}
		at = prandom_u32_state(&rnd) % NR;
		if (!pte_present(want[at]) || pte_pfn(want[at]) >= folio_pfn(t->folio) + NR)
			continue;
		KUNIT_ASSERT_EQ_MSG(test, age(t, at, at, &young),
				    age_model(t, want, at, &expected), "round %u", round);
		KUNIT_ASSERT_EQ_MSG(test, young, expected, "round %u", round);
		for (i = 0; i < NR; i++)
			KUNIT_ASSERT_TRUE_MSG(test, pte_same(ptep_get(t->table + i), want[i]),
					      "round %u, entry %u", round, i);
	}
}

static struct kunit_case unmap_reference_cases[] = {
	KUNIT_CASE(unmap_reference_whole_folio),
	KUNIT_CASE(unmap_reference_ends_with_table),
	KUNIT_CASE(unmap_reference_ends_with_vma),
	KUNIT_CASE(unmap_reference_ends_with_walk),
	KUNIT_CASE(unmap_reference_obeys_max_run),
	KUNIT_CASE(unmap_reference_finds_each),
	KUNIT_CASE(unmap_reference_finds_none),
	KUNIT_CASE(unmap_reference_of_nonpresent_is_one),
	KUNIT_CASE(unmap_reference_goes_forward),
	KUNIT_CASE(unmap_reference_is_exact),
	{}
};

static struct kunit_suite unmap_reference_suite = {
	.name = "unmap_reference",
	.init = unmap_reference_init,
	.exit = unmap_reference_exit,
	.test_cases = unmap_reference_cases,
};

kunit_test_suite(unmap_reference_suite);
