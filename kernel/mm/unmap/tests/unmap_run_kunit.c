// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding, clearing and putting back runs, on a page table made for the tests.
 *
 * The table is two pages long: if a run wrongly goes on past the end of the first
 * page, it finds matching entries there.  The mm is init_mm, for which page-table
 * checking and TLB flushing do nothing: the system-call tests cover these.  Nobody
 * else uses the table, so no lock is taken.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../flush.h"
#include "../internal.h"
#include "../knobs.h"
#include "../run.h"

#define BLOCK_ORDER	7	/* no contiguous block of arm64 is longer, with pages of any size */
#define ORDER		5	/* so that entries are compared eight at a time, repeatedly */
#define NR		BIT(ORDER)
#define TABLE_ADDR	(16UL << PMD_SHIFT)
#define TABLE_ORDER	1
#define TABLE_ENTRIES	(PTRS_PER_PTE << TABLE_ORDER)

struct unmap_run_test {
	struct vm_area_struct vma;
	struct unmap_op op;
	pte_t *table;
	unsigned int max_run;
};

static int unmap_run_init(struct kunit *test)
{
	struct unmap_run_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->op.folio = folio_alloc(GFP_KERNEL, ORDER);
	t->table = (pte_t *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, TABLE_ORDER);
	t->op.vma = &t->vma;
	t->vma.vm_mm = &init_mm;
	t->vma.vm_start = TABLE_ADDR;
	t->vma.vm_end = TABLE_ADDR + TABLE_ENTRIES * PAGE_SIZE;
	t->max_run = unmap_max_run;
	WRITE_ONCE(unmap_max_run, PTRS_PER_PTE);
	test->priv = t;
	return t->op.folio && t->table ? 0 : -ENOMEM;
}

static void unmap_run_exit(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	if (!t)
		return;
	WRITE_ONCE(unmap_max_run, t->max_run);
	free_pages((unsigned long)t->table, TABLE_ORDER);
	if (t->op.folio)
		folio_put(t->op.folio);
}

/* A read-only, old, clean entry for the folio's @i-th page. */
static pte_t plain_pte(struct unmap_run_test *t, unsigned int i)
{
	pte_t pte = pfn_pte(folio_pfn(t->op.folio) + i, PAGE_READONLY);

	return pte_clear_soft_dirty(pte_mkold(pte_mkclean(pte_wrprotect(pte))));
}

static void put_entry(struct unmap_run_test *t, unsigned int i, pte_t pte)
{
	unsigned long addr = TABLE_ADDR + i * PAGE_SIZE;

	pte_clear(&init_mm, addr, t->table + i);
	set_pte_at(&init_mm, addr, t->table + i, pte);
}

/* Map @nr pages from entry @at on: those of the folio, and then those behind it. */
static void map_plain(struct unmap_run_test *t, unsigned int at, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		put_entry(t, at + i, plain_pte(t, i));
}

/*
 * Find the run that starts at entry @at, which maps the folio's @i-th page.  Returns its
 * length.
 */
static unsigned int find(struct unmap_run_test *t, unsigned int at, unsigned int i)
{
	t->op.run = (struct pte_run) {
		.ptep = t->table + at,
		.addr = TABLE_ADDR + at * PAGE_SIZE,
		.pte = ptep_get(t->table + at),
		.page = folio_page(t->op.folio, i),
	};
	unmap_run_find(&t->op);
	return t->op.run.nr;
}

/*
 * Map the folio at the table's start, with @odd as entry @i.  Returns the length of the
 * run that starts at the first entry.
 */
static unsigned int nr_with_odd(struct unmap_run_test *t, unsigned int i, pte_t odd)
{
	map_plain(t, 0, NR);
	put_entry(t, i, odd);
	return find(t, 0, 0);
}

static void unmap_run_takes_whole_folio(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	map_plain(t, 3, NR);
	KUNIT_EXPECT_EQ(test, find(t, 3, 0), NR);
	KUNIT_EXPECT_EQ(test, find(t, 3 + 5, 5), NR - 5);
}

static void unmap_run_of_one(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	struct folio *large = t->op.folio;

	t->op.folio = folio_alloc(GFP_KERNEL, 0);
	if (t->op.folio) {
		map_plain(t, 0, 2);
		KUNIT_EXPECT_EQ(test, find(t, 0, 0), 1);
		folio_put(t->op.folio);
	} else {
		KUNIT_FAIL(test, "no memory for a folio");
	}
	t->op.folio = large;
}

static void unmap_run_ends_with_folio(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	map_plain(t, 0, 2 * NR);
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), NR);
}

static void unmap_run_ends_with_table(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	map_plain(t, PTRS_PER_PTE - 4, NR);
	KUNIT_EXPECT_EQ(test, find(t, PTRS_PER_PTE - 4, 0), 4);
	KUNIT_EXPECT_EQ(test, find(t, PTRS_PER_PTE, 4), NR - 4);
}

static void unmap_run_ends_with_vma(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	map_plain(t, 0, NR);
	t->vma.vm_end = TABLE_ADDR + 7 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), 7);
}

static void unmap_run_obeys_max_run(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	map_plain(t, 0, NR);
	WRITE_ONCE(unmap_max_run, 5);
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), 5);
	WRITE_ONCE(unmap_max_run, 1);
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), 1);
}

static void unmap_run_ends_where_write_changes(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	pte_t pte = pte_mkwrite_novma(plain_pte(t, 6));

	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, pte), 6);
	KUNIT_EXPECT_EQ(test, find(t, 6, 6), 1);
}

static void unmap_run_ends_where_soft_dirty_changes(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	pte_t pte = pte_mksoft_dirty(plain_pte(t, 6));

	if (!pte_soft_dirty(pte))
		kunit_skip(test, "no soft-dirty bit in this kernel");
	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, pte), 6);
	KUNIT_EXPECT_EQ(test, find(t, 6, 6), 1);
}

static void unmap_run_ends_where_uffd_wp_changes(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	pte_t pte = pte_mkuffd(plain_pte(t, 6));

	if (!pte_uffd(pte))
		kunit_skip(test, "no userfaultfd-wp bit in this kernel");
	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, pte), 6);
	KUNIT_EXPECT_EQ(test, find(t, 6, 6), 1);
}

static void unmap_run_ends_where_nothing_is_mapped(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	swp_entry_t entry = make_device_exclusive_entry(folio_pfn(t->op.folio) + 6);

	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, __pte(0)), 6);
	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, swp_entry_to_pte(entry)), 6);
	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, plain_pte(t, 7)), 6);
}

/* Entries are compared several at a time: the one that differs may be any of them. */
static void unmap_run_ends_anywhere(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	unsigned int from, odd;

	for (odd = 1; odd < NR; odd++) {
		nr_with_odd(t, odd, pte_mkwrite_novma(plain_pte(t, odd)));
		for (from = 0; from < NR; from++)
			KUNIT_EXPECT_EQ_MSG(test, find(t, from, from),
					    from < odd ? odd - from :
					    from > odd ? NR - from : 1,
					    "from page %u, page %u is odd", from, odd);
	}
}

/*
 * x86 inverts the PFN of PROT_NONE entries (L1TF), so it decreases from page to page.
 * Pages in reverse order must not look like a run.
 */
static void unmap_run_goes_forward(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	unsigned long pfn = folio_pfn(t->op.folio);
	unsigned int i;

	for (i = 0; i < NR; i++)
		put_entry(t, i, pfn_pte(pfn + i, PAGE_NONE));
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), NR);
	for (i = 0; i < NR; i++)
		put_entry(t, i, pfn_pte(pfn + NR - 1 - i, PAGE_NONE));
	KUNIT_EXPECT_EQ(test, find(t, 8, NR - 1 - 8), 1);
	for (i = 0; i < NR; i++)
		put_entry(t, i, pfn_pte(pfn + NR - 1 - i, PAGE_READONLY));
	KUNIT_EXPECT_EQ(test, find(t, 8, NR - 1 - 8), 1);
}

/* unmap_run_clear() gathers accessed and dirty, whichever entry has them. */
static void unmap_run_gathers_from_all(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	unsigned int odd;
	pte_t pte;

	for (odd = 0; odd < NR; odd++) {
		pte = pte_mkyoung(plain_pte(t, odd));
		KUNIT_EXPECT_EQ(test, nr_with_odd(t, odd, pte), NR);
		unmap_run_clear(&t->op);
		KUNIT_EXPECT_TRUE(test, pte_young(t->op.run.pte));
		KUNIT_EXPECT_FALSE(test, pte_dirty(t->op.run.pte));
		pte = pte_clear_soft_dirty(pte_mkdirty(plain_pte(t, odd)));
		KUNIT_EXPECT_EQ(test, nr_with_odd(t, odd, pte), NR);
		unmap_run_clear(&t->op);
		KUNIT_EXPECT_FALSE(test, pte_young(t->op.run.pte));
		KUNIT_EXPECT_TRUE(test, pte_dirty(t->op.run.pte));
	}
}

static void unmap_run_of_nonpresent_is_one(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	swp_entry_t entry = make_device_exclusive_entry(folio_pfn(t->op.folio));
	pte_t pte = swp_entry_to_pte(entry);
	unsigned int i;

	/* Each entry differs from the one before only by one page. */
	for (i = 0; i < NR; i++)
		put_entry(t, i, pte_advance_pfn(pte, i));
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), 1);
}

static void unmap_run_of_nonpresent_is_put_back(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	pte_t pte = swp_entry_to_pte(make_device_exclusive_entry(folio_pfn(t->op.folio)));

	put_entry(t, 0, pte);
	KUNIT_ASSERT_EQ(test, find(t, 0, 0), 1);
	unmap_run_clear(&t->op);
	KUNIT_EXPECT_TRUE(test, pte_none(ptep_get(t->table)));
	KUNIT_EXPECT_TRUE(test, pte_same(t->op.run.pte, pte));
	unmap_run_put_back(&t->op, UNMAP_STAYS_REFERENCED);
	KUNIT_EXPECT_TRUE(test, pte_same(ptep_get(t->table), pte));
}

static void unmap_run_ignores_young_and_dirty(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	pte_t dirty = pte_clear_soft_dirty(pte_mkdirty(plain_pte(t, 6)));

	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, pte_mkyoung(plain_pte(t, 6))), NR);
	KUNIT_EXPECT_EQ(test, nr_with_odd(t, 6, dirty), NR);
}

static void unmap_run_in_shadow_stack_is_one(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	if (!VM_SHADOW_STACK)
		kunit_skip(test, "no shadow stacks in this kernel");
	map_plain(t, 0, NR);
	vm_flags_init(&t->vma, VM_SHADOW_STACK);
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), 1);
}

static void unmap_run_for_poison_is_one(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	map_plain(t, 0, NR);
	t->op.flags = TTU_HWPOISON;
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), 1);
}

/* Make the folio look anonymous and swap-backed; undo that before the folio is freed. */
static void pretend_anon(struct unmap_run_test *t, bool anon)
{
	unsigned int i;

	for (i = 0; i < NR && !anon; i++)
		ClearPageAnonExclusive(folio_page(t->op.folio, i));
	t->op.folio->mapping = anon ? (void *)FOLIO_MAPPING_ANON : NULL;
	if (anon)
		folio_set_swapbacked(t->op.folio);
	else
		folio_clear_swapbacked(t->op.folio);
}

/*
 * @exclusive has a bit for each page: set PageAnonExclusive accordingly.  Check the runs
 * that start at each of the pages.
 */
static void expect_split_at_exclusive(struct kunit *test, u32 exclusive)
{
	struct unmap_run_test *t = test->priv;
	unsigned int i, end;

	for (i = 0; i < NR; i++) {
		if (exclusive & BIT(i))
			SetPageAnonExclusive(folio_page(t->op.folio, i));
		else
			ClearPageAnonExclusive(folio_page(t->op.folio, i));
	}
	for (i = 0; i < NR; i++) {
		for (end = i + 1; end < NR; end++) {
			if (!(exclusive & BIT(end)) != !(exclusive & BIT(i)))
				break;
		}
		KUNIT_EXPECT_EQ_MSG(test, find(t, i, i), end - i,
				    "exclusive %x, from page %u", exclusive, i);
	}
}

static void unmap_run_ends_where_exclusive_changes(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	struct rnd_state rnd;
	unsigned int round;

	map_plain(t, 0, NR);
	pretend_anon(t, true);
	prandom_seed_state(&rnd, 1);
	expect_split_at_exclusive(test, 0);
	expect_split_at_exclusive(test, ~0U);
	for (round = 0; round < 200; round++)
		expect_split_at_exclusive(test, prandom_u32_state(&rnd));
	pretend_anon(t, false);
}

/* Lazyfree folios leave no swap entries, which would have to record PageAnonExclusive. */
static void unmap_run_of_lazyfree_ignores_exclusive(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;

	map_plain(t, 0, NR);
	pretend_anon(t, true);
	folio_clear_swapbacked(t->op.folio);
	SetPageAnonExclusive(folio_page(t->op.folio, 5));
	KUNIT_EXPECT_EQ(test, find(t, 0, 0), NR);
	pretend_anon(t, false);
}

static void unmap_run_clear_gathers(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	struct pte_run *run = &t->op.run;
	unsigned int i;

	map_plain(t, 0, 2 * NR);
	put_entry(t, 3, pte_clear_soft_dirty(pte_mkdirty(plain_pte(t, 3))));
	put_entry(t, 9, pte_mkyoung(plain_pte(t, 9)));
	KUNIT_ASSERT_EQ(test, find(t, 0, 0), NR);
	unmap_run_clear(&t->op);

	KUNIT_EXPECT_TRUE(test, pte_dirty(run->pte));
	KUNIT_EXPECT_TRUE(test, pte_young(run->pte));
	KUNIT_EXPECT_FALSE(test, pte_soft_dirty(run->pte));
	KUNIT_EXPECT_FALSE(test, pte_write(run->pte));
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_TRUE(test, pte_none(ptep_get(t->table + i)));
	for (; i < 2 * NR; i++)
		KUNIT_EXPECT_TRUE(test, pte_same(ptep_get(t->table + i), plain_pte(t, i)));
}

/* An entry for the @i-th page with bits chosen at random. */
static pte_t random_pte(struct unmap_run_test *t, unsigned int i, u32 bits)
{
	pte_t pte = plain_pte(t, i);

	if (bits & BIT(0))
		pte = pte_mkwrite_novma(pte);
	if (bits & BIT(1))
		pte = pte_mkdirty(pte);
	pte = bits & BIT(2) ? pte_mksoft_dirty(pte) : pte_clear_soft_dirty(pte);
	if (bits & BIT(3))
		pte = pte_mkuffd(pte);
	if (bits & BIT(4))
		pte = pte_mkyoung(pte);
	return pte;
}

/* Law 3: all bits but young and dirty are as they were, and these two are not lost. */
static bool is_put_back(pte_t now, pte_t was)
{
	return pte_same(pte_mkold(pte_mkclean(now)),
			pte_mkold(pte_mkclean(was))) &&
	       !!pte_dirty(now) >= !!pte_dirty(was) &&
	       !!pte_young(now) >= !!pte_young(was);
}

static void clear_and_put_back_all(struct unmap_run_test *t)
{
	unsigned int i, nr;

	for (i = 0; i < NR; i += nr) {
		nr = find(t, i, i);
		unmap_run_clear(&t->op);
		unmap_run_put_back(&t->op, UNMAP_STAYS_REFERENCED);
	}
}

static void unmap_run_put_back_is_exact(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	struct rnd_state rnd;
	unsigned int round, i;
	pte_t was[NR];
	u32 bits = 0;

	map_plain(t, 0, 2 * NR);
	for (round = 0; round < 1000; round++) {
		prandom_seed_state(&rnd, round);
		for (i = 0; i < NR; i++) {
			/* Change the bits rarely, so that there are runs longer than one. */
			if (!(prandom_u32_state(&rnd) % 4))
				bits = prandom_u32_state(&rnd);
			was[i] = random_pte(t, i, bits);
			put_entry(t, i, was[i]);
		}
		clear_and_put_back_all(t);
		for (i = 0; i < NR; i++)
			KUNIT_ASSERT_TRUE_MSG(test,
					      is_put_back(ptep_get(t->table + i), was[i]),
					      "round %u, entry %u: %lx became %lx",
					      round, i, (unsigned long)pte_val(was[i]),
					      (unsigned long)pte_val(ptep_get(t->table + i)));
		KUNIT_ASSERT_TRUE(test, pte_same(ptep_get(t->table + NR),
						 plain_pte(t, NR)));
	}
}

/* A swap PTE with those of the three marks whose bits are set in @marks. */
static pte_t swap_pte(unsigned long offset, unsigned int marks)
{
	pte_t pte = swp_entry_to_pte(swp_entry(1, offset));

	if (marks & 1)
		pte = pte_swp_mkexclusive(pte);
	if (marks & 2)
		pte = pte_swp_mksoft_dirty(pte);
	if (marks & 4)
		pte = pte_swp_mkuffd(pte);
	return pte;
}

/* The sum must not leave the offset's bits, wherever it carries to. */
static void unmap_run_counts_swap_entries_up(struct kunit *test)
{
	unsigned int bit, marks;

	if (!UNMAP_ARCH_SWAP_STEP)
		kunit_skip(test, "not one number on this architecture");
	for (bit = 0; bit < 32; bit++)
		for (marks = 0; marks < 8; marks++) {
			pte_t pte = swap_pte(BIT(bit) - 1, marks);
			u64 next = pte_val(pte) + UNMAP_ARCH_SWAP_STEP;

			KUNIT_EXPECT_EQ(test, next, pte_val(swap_pte(BIT(bit), marks)));
			KUNIT_EXPECT_EQ(test, next, pte_val(pte_next_swp_offset(pte)));
		}
}

/* As hardware does: of one entry of a contiguous block only. */
static void use_and_write(pte_t *ptep)
{
	*ptep = pte_clear_soft_dirty(pte_mkdirty(pte_mkyoung(unmap_arch_peek(ptep))));
}

/* The folio, mapped by contiguous blocks: clear it, and put it back. */
static void clear_blocks(struct kunit *test, struct unmap_run_test *t, unsigned int block)
{
	const unsigned int nr = BIT(BLOCK_ORDER);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, find(t, 0, 0), nr);
	unmap_run_clear(&t->op);
	KUNIT_EXPECT_TRUE(test, pte_young(t->op.run.pte));
	KUNIT_EXPECT_TRUE(test, pte_dirty(t->op.run.pte));
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_TRUE(test, pte_none(ptep_get(t->table + i)));
	unmap_run_put_back(&t->op, UNMAP_STAYS_REFERENCED);
	KUNIT_EXPECT_EQ(test, block, pte_batch_hint(t->table, ptep_get(t->table)));
	KUNIT_ASSERT_EQ(test, find(t, 0, 0), nr);
	unmap_run_clear(&t->op);	/* page-table checking counts what a user's mm maps */
}

static void map_blocks(struct kunit *test, struct unmap_run_test *t)
{
	const unsigned int nr = BIT(BLOCK_ORDER);
	unsigned int block;

	set_ptes(t->vma.vm_mm, TABLE_ADDR, t->table, plain_pte(t, 0), nr);
	block = pte_batch_hint(t->table, ptep_get(t->table));
	use_and_write(t->table + block - 1);
	KUNIT_EXPECT_TRUE(test, unmap_arch_any_dirty(t->table, 1));
	KUNIT_EXPECT_FALSE(test, unmap_arch_any_dirty(t->table + block, nr - block));
	clear_blocks(test, t, block);
}

/* Only a user's mm has contiguous blocks (arm64); elsewhere each entry is one. */
static void unmap_run_takes_contiguous_blocks(struct kunit *test)
{
	struct unmap_run_test *t = test->priv;
	struct folio *small = t->op.folio;

	t->op.folio = folio_alloc(GFP_KERNEL, BLOCK_ORDER);
	t->vma.vm_mm = mm_alloc();
	if (t->op.folio && t->vma.vm_mm)
		map_blocks(test, t);
	else
		KUNIT_FAIL(test, "no memory for a folio, or for an mm");
	if (t->vma.vm_mm)
		mmput(t->vma.vm_mm);
	if (t->op.folio)
		folio_put(t->op.folio);
	t->vma.vm_mm = &init_mm;
	t->op.folio = small;
}

static struct kunit_case unmap_run_cases[] = {
	KUNIT_CASE(unmap_run_takes_whole_folio),
	KUNIT_CASE(unmap_run_of_one),
	KUNIT_CASE(unmap_run_ends_with_folio),
	KUNIT_CASE(unmap_run_ends_with_table),
	KUNIT_CASE(unmap_run_ends_with_vma),
	KUNIT_CASE(unmap_run_obeys_max_run),
	KUNIT_CASE(unmap_run_ends_where_write_changes),
	KUNIT_CASE(unmap_run_ends_where_soft_dirty_changes),
	KUNIT_CASE(unmap_run_ends_where_uffd_wp_changes),
	KUNIT_CASE(unmap_run_ends_where_nothing_is_mapped),
	KUNIT_CASE(unmap_run_ends_anywhere),
	KUNIT_CASE(unmap_run_goes_forward),
	KUNIT_CASE(unmap_run_gathers_from_all),
	KUNIT_CASE(unmap_run_of_nonpresent_is_one),
	KUNIT_CASE(unmap_run_of_nonpresent_is_put_back),
	KUNIT_CASE(unmap_run_ignores_young_and_dirty),
	KUNIT_CASE(unmap_run_in_shadow_stack_is_one),
	KUNIT_CASE(unmap_run_for_poison_is_one),
	KUNIT_CASE(unmap_run_ends_where_exclusive_changes),
	KUNIT_CASE(unmap_run_of_lazyfree_ignores_exclusive),
	KUNIT_CASE(unmap_run_clear_gathers),
	KUNIT_CASE(unmap_run_put_back_is_exact),
	KUNIT_CASE(unmap_run_counts_swap_entries_up),
	KUNIT_CASE(unmap_run_takes_contiguous_blocks),
	{}
};

static struct kunit_suite unmap_run_suite = {
	.name = "unmap_run",
	.init = unmap_run_init,
	.exit = unmap_run_exit,
	.test_cases = unmap_run_cases,
};

kunit_test_suite(unmap_run_suite);

MODULE_DESCRIPTION("KUnit tests of finding, clearing and putting back runs");
MODULE_LICENSE("GPL");
