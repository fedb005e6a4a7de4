// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of noticing that a page table is empty, of batches, of marks and of records.
 *
 * The table under test is allocated for init_mm, which page-table checking and TLB flushing
 * ignore.  No other code uses it, so no lock is taken.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

#include "../internal.h"
#include "../tables/table.h"
#include "../tables/tables_kept.h"

#define TABLE_ADDR	(16UL << PMD_SHIFT)
#define STEPS		100000

struct unmap_table_test {
	pte_t *table;
	struct rnd_state rnd;
	unsigned short order[PTRS_PER_PTE];
	pmd_t pmds[3 * TABLE_BATCH];
	bool was_off;
};

static int unmap_table_init(struct kunit *test)
{
	struct unmap_table_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u32 seed = get_random_u32();

	if (!t)
		return -ENOMEM;
	kunit_info(test, "seed %u\n", seed);
	prandom_seed_state(&t->rnd, seed);
	t->table = pte_alloc_one_kernel(&init_mm);
	test->priv = t;
	/* Nothing is recorded while the switch is off. */
	t->was_off = !unmap_tables_enabled();
	if (t->was_off)
		static_branch_enable(&unmap_keys[UNMAP_BIT_TABLES]);
	return t->table ? 0 : -ENOMEM;
}

static void unmap_table_exit(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;

	if (!t)
		return;
	if (t->was_off)
		static_branch_disable(&unmap_keys[UNMAP_BIT_TABLES]);
	if (t->table)
		pte_free_kernel(&init_mm, t->table);
}

static unsigned int random_below(struct unmap_table_test *t, unsigned int end)
{
	return prandom_u32_state(&t->rnd) % end;
}

/* A present entry, a swap entry or a marker: any entry that is not none is in use. */
static pte_t random_entry(struct unmap_table_test *t)
{
	switch (random_below(t, 4)) {
	case 0:
		return swp_entry_to_pte(swp_entry(0, 1 + random_below(t, 1 << 20)));
	case 1:
		return make_pte_marker(PTE_MARKER_POISONED);
	case 2:
		return pfn_pte(1 + random_below(t, 1 << 20), PAGE_READONLY);
	default:
		return pfn_pte(1 + random_below(t, 1 << 20), PAGE_NONE);
	}
}

static void clear_entry(struct unmap_table_test *t, unsigned int i)
{
	pte_clear(&init_mm, TABLE_ADDR + i * PAGE_SIZE, t->table + i);
}

static void fill_entry(struct unmap_table_test *t, unsigned int i)
{
	clear_entry(t, i);
	set_pte_at(&init_mm, TABLE_ADDR + i * PAGE_SIZE, t->table + i, random_entry(t));
}

static bool is_used(const struct unmap_table_test *t, unsigned int i)
{
	return !pte_none(ptep_get(t->table + i));
}

static bool is_empty(const struct unmap_table_test *t)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		if (is_used(t, i))
			return false;
	return true;
}

static void set_word(struct unmap_table_test *t, unsigned long word)
{
	virt_to_ptdesc(t->table)->pt_index = word;
}

static unsigned long random_word(struct unmap_table_test *t)
{
	unsigned long high = prandom_u32_state(&t->rnd);

	return high * PTRS_PER_PTE * PTRS_PER_PTE + prandom_u32_state(&t->rnd);
}

/* The answer must be right, and unless the table is empty, the watched entry in use. */
static void expect_right(struct kunit *test, unsigned long step)
{
	struct unmap_table_test *t = test->priv;
	bool empty = is_empty(t);

	KUNIT_ASSERT_EQ_MSG(test, unmap_table_emptied(t->table), empty,
			    "step %lu, watched %u", step,
			    unmap_table_watched(t->table));
	if (!empty)
		KUNIT_ASSERT_TRUE_MSG(test, is_used(t, unmap_table_watched(t->table)),
				      "step %lu", step);
}

static void clear_and_expect(struct kunit *test, unsigned int i, unsigned long step)
{
	clear_entry(test->priv, i);
	expect_right(test, step);
}

static void clear_all(struct unmap_table_test *t)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		clear_entry(t, i);
}

/*
 * Fill and clear entries at random, with phases in which few entries are in use and the
 * table becomes empty, and phases in which nearly all are.  With @garbage, the word with the
 * watched entry is overwritten now and then.
 */
static void run_random(struct kunit *test, bool garbage)
{
	struct unmap_table_test *t = test->priv;
	unsigned int used = 1;
	unsigned long step;

	for (step = 0; step < STEPS; step++) {
		unsigned int i = random_below(t, PTRS_PER_PTE);

		if (random_below(t, 2000) == 0) {
			used = 1 + random_below(t, 4);
			clear_all(t);
		}
		if (garbage && random_below(t, 16) == 0)
			set_word(t, random_word(t));
		/* With only five entries in use at most, the table becomes empty often. */
		if (used < 4)
			i = i % 5 * (PTRS_PER_PTE / 5);
		if (random_below(t, 5) < used)
			fill_entry(t, i);
		else
			clear_and_expect(test, i, step);
	}
}

static void unmap_table_says_empty_when_empty(struct kunit *test)
{
	run_random(test, false);
}

static void unmap_table_survives_garbage(struct kunit *test)
{
	run_random(test, true);
}

/* A table with a single entry in use: each entry in turn, and any entry watched before. */
static void unmap_table_finds_any_entry(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	unsigned int i, round;

	for (i = 0; i < PTRS_PER_PTE; i++) {
		fill_entry(t, i);
		for (round = 0; round < 16; round++) {
			set_word(t, random_word(t));
			KUNIT_ASSERT_FALSE(test, unmap_table_emptied(t->table));
			KUNIT_ASSERT_EQ(test, unmap_table_watched(t->table), i);
		}
		clear_and_expect(test, i, i);
	}
}

/* How many entries a search has read: it goes around the table once at most. */
static unsigned int cost_of_look(const struct unmap_table_test *t, unsigned int before,
				 bool empty)
{
	unsigned int now = unmap_table_watched(t->table);

	return empty ? PTRS_PER_PTE : (now - before) % PTRS_PER_PTE + 1;
}

/*
 * Clear all entries of a full table in the given order.  The searches together must read
 * only a few times as many entries as the table has.
 */
static void expect_cheap(struct kunit *test, unsigned int first)
{
	struct unmap_table_test *t = test->priv;
	unsigned int i, before, cost = 0;
	bool empty = false;

	for (i = 0; i < PTRS_PER_PTE; i++)
		fill_entry(t, i);
	set_word(t, first);
	for (i = 0; i < PTRS_PER_PTE; i++) {
		clear_entry(t, t->order[i]);
		before = unmap_table_watched(t->table);
		cost++;
		if (is_used(t, before))
			continue;
		empty = unmap_table_emptied(t->table);
		cost += cost_of_look(t, before, empty);
		KUNIT_ASSERT_EQ(test, empty, i == PTRS_PER_PTE - 1);
	}
	KUNIT_EXPECT_TRUE(test, empty);
	KUNIT_EXPECT_LE(test, cost, 4 * PTRS_PER_PTE);
}

static void shuffle(struct unmap_table_test *t)
{
	unsigned int i, other;

	for (i = PTRS_PER_PTE - 1; i > 0; i--) {
		other = random_below(t, i + 1);
		swap(t->order[i], t->order[other]);
	}
}

static void unmap_table_clearing_all_is_cheap(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		t->order[i] = i;
	for (i = 0; i < PTRS_PER_PTE; i += 73)
		expect_cheap(test, i);
	for (i = 0; i < PTRS_PER_PTE; i++)
		t->order[i] = PTRS_PER_PTE - 1 - i;
	for (i = 0; i < PTRS_PER_PTE; i += 73)
		expect_cheap(test, i);
	for (i = 0; i < 100; i++) {
		shuffle(t);
		expect_cheap(test, random_below(t, PTRS_PER_PTE));
	}
}

/* The edges of the second of three batches, with each of its tables noted first. */
static void unmap_table_batch_edges(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	const unsigned long size = TABLE_BATCH * PMD_SIZE;
	const unsigned long base = size * (1 + random_below(t, 1000));
	pmd_t *pmds = t->pmds + TABLE_BATCH;
	struct table_batch batch;
	unsigned int i;

	for (i = 0; i < TABLE_BATCH; i++) {
		unsigned long addr = base + i * PMD_SIZE;

		unmap_batch_begin(&batch, NULL, NULL);
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base - 1));
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base + size));
		unmap_batch_note(&batch, pmds + i, addr + random_below(t, PMD_SIZE));
		KUNIT_EXPECT_PTR_EQ(test, batch.pmd, pmds);
		KUNIT_EXPECT_EQ(test, batch.addr, base);
		KUNIT_EXPECT_EQ(test, batch.noted, BIT(i));
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base));
		KUNIT_EXPECT_TRUE(test, unmap_batch_fits(&batch, base + size - 1));
		KUNIT_EXPECT_FALSE(test, unmap_batch_fits(&batch, base - 1));
		KUNIT_EXPECT_FALSE(test, unmap_batch_fits(&batch, base + size));
	}
}

static void unmap_table_batch_fills(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
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
		KUNIT_EXPECT_EQ(test, batch.noted, GENMASK(i, 0));
		KUNIT_EXPECT_PTR_EQ(test, batch.pmd, &t->pmds[0]);
	}
}

/* Law 11: a marked PMD is none to all tests, and any entry installed overwrites the mark. */
static void unmap_table_leaves_mark(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	pmd_t *pmd = t->pmds;

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

static void unmap_table_leaves_none(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;

	pmd_populate_kernel(&init_mm, t->pmds, t->table);
	unmap_pmd_unhook(&init_mm, t->pmds, false);
	KUNIT_EXPECT_TRUE(test, unmap_pmd_untouched(t->pmds[0]));
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
static void unmap_table_forgets_marks(struct kunit *test)
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
static void unmap_table_whole_leaves_no_mark(struct kunit *test)
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

/* The last pass over a table may begin anywhere in it: the flush must hit other tables, too. */
static void unmap_table_gathered_aligned(struct kunit *test)
{
	struct unmap_table_test *t = test->priv;
	const unsigned long addr = TABLE_ADDR + (1 + random_below(t, PTRS_PER_PTE - 1)) * PAGE_SIZE;
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

static pud_t *alloc_pud(struct mm_struct *mm, unsigned long addr)
{
	p4d_t *p4d = p4d_alloc(mm, pgd_offset(mm, addr), addr);

	return p4d ? pud_alloc(mm, p4d, addr) : NULL;
}

static void free_tables(struct mm_struct *mm, unsigned long addr)
{
	struct mmu_gather tlb;

	tlb_gather_mmu(&tlb, mm);
	free_pgd_range(&tlb, addr, addr + PUD_SIZE, 0, 0);
	tlb_finish_mmu(&tlb);
}

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
static void unmap_table_gives_back_at_once(struct kunit *test)
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
		KUNIT_EXPECT_EQ(test, 0UL, g->batch.noted);
		giving_end(g);
	}
}

/* The PMD lock is not waited for: its holders may wait for the table's lock. */
static void unmap_table_keeps_if_pmd_lock_is_taken(struct kunit *test)
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
static void unmap_table_keeps_if_not_alone(struct kunit *test)
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
		unmap_policy_store("eager");
	}
	KUNIT_EXPECT_TRUE(test, unmap_is_table(g->pmd));
	giving_end(g);
}

/* A sweep must not take a huge page of a device for a page of PMDs. */
static void unmap_table_huge_pud_has_no_pmds(struct kunit *test)
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

/* MADV_DONTNEED is left to stock code only where that may free a table. */
static void unmap_table_range_holds_one(struct kunit *test)
{
	const unsigned long size = PMD_SIZE;

	KUNIT_EXPECT_TRUE(test, unmap_holds_table(size, 2 * size));
	KUNIT_EXPECT_TRUE(test, unmap_holds_table(PAGE_SIZE, 2 * size));
	KUNIT_EXPECT_TRUE(test, unmap_holds_table(size - PAGE_SIZE, 2 * size + PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, unmap_holds_table(size, 2 * size - PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, unmap_holds_table(size + PAGE_SIZE, 3 * size - PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, unmap_holds_table(PAGE_SIZE, 2 * PAGE_SIZE));
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
static void unmap_table_records_need_users(struct kunit *test)
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
static void unmap_table_records_change_hands(struct kunit *test)
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
static void unmap_table_empty_record_is_freed(struct kunit *test)
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
static void unmap_table_places_grow(struct kunit *test)
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

static struct kunit_case unmap_table_cases[] = {
	KUNIT_CASE_SLOW(unmap_table_says_empty_when_empty),
	KUNIT_CASE_SLOW(unmap_table_survives_garbage),
	KUNIT_CASE(unmap_table_finds_any_entry),
	KUNIT_CASE(unmap_table_clearing_all_is_cheap),
	KUNIT_CASE(unmap_table_batch_edges),
	KUNIT_CASE(unmap_table_batch_fills),
	KUNIT_CASE(unmap_table_leaves_mark),
	KUNIT_CASE(unmap_table_leaves_none),
	KUNIT_CASE(unmap_table_forgets_marks),
	KUNIT_CASE(unmap_table_whole_leaves_no_mark),
	KUNIT_CASE(unmap_table_gathered_aligned),
	KUNIT_CASE(unmap_table_gives_back_at_once),
	KUNIT_CASE(unmap_table_keeps_if_pmd_lock_is_taken),
	KUNIT_CASE(unmap_table_keeps_if_not_alone),
	KUNIT_CASE(unmap_table_empty_record_is_freed),
	KUNIT_CASE(unmap_table_huge_pud_has_no_pmds),
	KUNIT_CASE(unmap_table_range_holds_one),
	KUNIT_CASE(unmap_table_records_need_users),
	KUNIT_CASE(unmap_table_records_change_hands),
	KUNIT_CASE(unmap_table_places_grow),
	{}
};

static struct kunit_suite unmap_table_suite = {
	.name = "unmap_table",
	.init = unmap_table_init,
	.exit = unmap_table_exit,
	.test_cases = unmap_table_cases,
};

kunit_test_suite(unmap_table_suite);

MODULE_DESCRIPTION("KUnit tests of noticing empty page tables");
MODULE_LICENSE("GPL");
