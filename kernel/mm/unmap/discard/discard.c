// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discarding what a stretch of a page table maps, because the range goes away:
 * munmap(), exit, MADV_DONTNEED, truncation.  One pass over the page table, a run
 * at a time.
 */
#include <linux/ksm.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/unmap.h>

#include <asm/tlb.h>

#include "discard.h"
#include "discard_run.h"
#include "../knobs.h"
#include "../stat.h"
#include "../window.h"

/*
 * Free what was gathered after so many pages of large anonymous folios, while their struct pages
 * are still in a cache: freeing writes each of them once more.  The mmu_gather has room for 9,678
 * single pages, but also for 4,849 folios of two pages or 512.  Where other threads may have to
 * be interrupted for the flush, free about as often as folios of 64 KiB fill the mmu_gather.
 * A kernel for tests frees after a few tables already.
 */
#define DISTURBED		IS_ENABLED(CONFIG_UNMAP_DISTURB)
#define FREE_EVERY		(DISTURBED ? 3 * PTRS_PER_PTE : 10000)
#define FREE_EVERY_THREADS	(DISTURBED ? 12 * PTRS_PER_PTE : 65536)

/* Law 2: the longest run that may begin at @page of this large folio. */
static unsigned int discard_run_limit(const struct discard *d, struct folio *folio,
				      struct page *page)
{
	unsigned long nr = folio_nr_pages(folio) - folio_page_idx(folio, page);

	nr = min_t(unsigned long, nr, discard_left(d));
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/* Remove the rmap of a run.  print_bad_pte() reports mapcounts that become negative. */
static __always_inline void discard_drop_rmap(struct discard *d, struct folio *folio,
					      struct page *page, unsigned int nr, pte_t pte,
					      bool anon, bool large)
{
	int gone;

	__folio_rmap_sanity_checks(folio, page, nr, PGTABLE_LEVEL_PTE);
	if (unlikely(d->vma->vm_flags & VM_LOCKED)) {
		folio_remove_rmap_ptes(folio, page, nr, d->vma);
	} else {
		gone = large ? rmap_remove_large(folio, page, nr, d->vma) :
			       atomic_add_negative(-1, &folio->_mapcount);
		if (gone)
			rmap_owe(&d->debt, folio,
				 anon ? NR_ANON_MAPPED : NR_FILE_MAPPED, gone);
	}
	if (unlikely((large || atomic_read(&folio->_mapcount) < -1) &&
		     folio_mapcount(folio) < 0))
		print_bad_pte(d->vma, d->addr, pte, page);
}

/*
 * Law 1: hand the run's pages to the mmu_gather, which frees them after the flush.
 * If it has no room for more, stop after this run.
 */
static __always_inline void discard_gather(struct discard *d, struct page *page,
					   unsigned int nr, bool delay_rmap)
{
	if (unlikely(__tlb_remove_folio_pages(d->tlb, page, nr, delay_rmap))) {
		d->force_flush = true;
		d->end = d->addr + nr * PAGE_SIZE;
	}
}

/* Law 1: the entries are gone, and the mmu_gather has recorded their addresses. */
static __always_inline void discard_assert_recorded(const struct discard *d, unsigned int nr)
{
	VM_WARN_ON_ONCE(pte_present(ptep_get(d->ptep)));
	VM_WARN_ON_ONCE(pte_present(ptep_get(d->ptep + nr - 1)));
	VM_WARN_ON_ONCE(d->tlb->start > d->addr);
	VM_WARN_ON_ONCE(d->tlb->end < d->addr + nr * PAGE_SIZE);
}

static __always_inline void discard_note_cleared(struct discard *d, unsigned int nr,
						 pte_t pte)
{
	unmap_arch_check_zapped(d->vma, pte);
	tlb_remove_tlb_entries(d->tlb, d->ptep, nr, d->addr);
	discard_assert_recorded(d, nr);
	if (unlikely(userfaultfd_pte_wp(d->vma, pte)))
		discard_leave_markers(d, nr, pte);
}

static __always_inline unsigned int discard_anon(struct discard *d, pte_t pte,
						 struct folio *folio,
						 struct page *page,
						 bool large)
{
	unsigned int limit = large ? discard_run_limit(d, folio, page) : 1;
	unsigned int nr = discard_clear_anon(d, pte, limit);

	d->rss[MM_ANONPAGES] -= nr;
	discard_note_cleared(d, nr, pte);
	discard_drop_rmap(d, folio, page, nr, pte, true, large);
	if (large)
		d->gathered += nr;
	discard_gather(d, page, nr, false);
	return nr;
}

/*
 * Other CPUs may write through stale TLB entries until the flush.  Keep the rmap until
 * then (return true), so that writeback does not clean the folio before.
 */
static bool discard_pass_on_dirty(struct discard *d, struct folio *folio)
{
	unmap_mark_dirty(folio);
	if (!tlb_delay_rmap(d->tlb))
		return false;
	d->force_flush = true;
	return true;
}

static unsigned int discard_file(struct discard *d, pte_t pte,
				 struct folio *folio, struct page *page)
{
	bool large = folio_test_large(folio), delay_rmap = false;
	unsigned int limit = large ? discard_run_limit(d, folio, page) : 1;
	unsigned int nr = discard_run_length(d, pte, limit);

	pte = unmap_arch_clear(d->tlb->mm, d->addr, d->ptep, nr, d->tlb->fullmm);
	if (pte_dirty(pte))
		delay_rmap = discard_pass_on_dirty(d, folio);
	if (pte_young(pte) && likely(vma_has_recency(d->vma)))
		folio_mark_accessed(folio);
	d->rss[mm_counter(folio)] -= nr;
	discard_note_cleared(d, nr, pte);
	if (!delay_rmap)
		discard_drop_rmap(d, folio, page, nr, pte, false, large);
	discard_gather(d, page, nr, delay_rmap);
	return nr;
}

/* The zero page, or memory without a struct page: neither rss nor rmap counts it. */
static unsigned int discard_special(struct discard *d, pte_t pte)
{
	struct mm_struct *mm = d->tlb->mm;

	ptep_get_and_clear_full(mm, d->addr, d->ptep, d->tlb->fullmm);
	discard_note_cleared(d, 1, pte);
	ksm_might_unmap_zero_page(mm, pte);
	d->others = true;
	return 1;
}

static __always_inline unsigned int discard_present(struct discard *d, pte_t pte)
{
	struct page *page = unmap_normal_page(d->vma, d->addr, pte);
	struct folio *folio;
	unsigned int nr;

	if (unlikely(!page))
		return discard_special(d, pte);
	folio = page_folio(page);
	if (unlikely(!discard_wanted(d, folio))) {
		d->remains = true;
		return 1;
	}
	if (!folio_test_anon(folio))
		nr = discard_file(d, pte, folio, page);
	else if (folio_test_large(folio))
		nr = discard_anon(d, pte, folio, page, true);
	else
		nr = discard_anon(d, pte, folio, page, false);
	VM_WARN_ON_ONCE((d->addr ^ (d->addr + nr * PAGE_SIZE - 1)) & PMD_MASK);
	VM_WARN_ON_ONCE(d->addr + nr * PAGE_SIZE > d->vma->vm_end);
	d->runs++;
	d->entries += nr;
	return nr;
}

/* Count the none entries from the current one on, eight at a time where possible. */
static __always_inline unsigned int discard_skip_none(const struct discard *d)
{
	unsigned int nr = 1, left = discard_left(d);

	while (nr + 8 <= left && unmap_arch_all_none(d->ptep + nr, 8))
		nr += 8;
	if (nr + 4 <= left && unmap_arch_all_none(d->ptep + nr, 4))
		nr += 4;
	while (nr < left && pte_none(unmap_arch_peek(d->ptep + nr)))
		nr++;
	return nr;
}

/* Discard up to @d->end.  Stops early if the task should be rescheduled or flush. */
static void discard_entries(struct discard *d)
{
	unsigned int nr;
	pte_t pte;

	while (d->addr < d->end) {
		pte = unmap_arch_peek(d->ptep);
		if (pte_none(pte))
			nr = discard_skip_none(d);
		else if (need_resched())
			break;
		else if (pte_present(pte))
			nr = discard_present(d, pte);
		else
			nr = discard_nonpresent(d, pte);
		d->ptep += nr;
		d->addr += nr * PAGE_SIZE;
	}
}

/* Law 4: account for everything cleared, before the page-table lock is dropped. */
static void discard_settle_accounts(struct discard *d)
{
	int i;

	if (!d->entries && !d->others) {
		VM_WARN_ON_ONCE(d->debt.nr || memchr_inv(d->rss, 0, sizeof(d->rss)));
		return;
	}
	rmap_pay_debt(&d->debt);
	for (i = 0; i < NR_MM_COUNTERS; i++)
		if (d->rss[i])
			add_mm_counter(d->tlb->mm, i, d->rss[i]);
	unmap_count(UNMAP_STAT_DISCARD_RUNS, d->runs);
	unmap_count(UNMAP_STAT_DISCARD_ENTRIES, d->entries);
}

/*
 * This pass covered the whole table, and each entry was none or is none now.  @addr is where it
 * began when it took the table's lock: a pass that has begun again further on has not seen the
 * entries before that under this lock (law 7).
 */
static __always_inline bool discard_emptied_all(const struct discard *d, unsigned long addr)
{
	return d->addr - addr == PMD_SIZE && !d->remains;
}

/*
 * Whether the page table is empty; if it will be looked at again with the others of the batch,
 * whether it may be.  The watched entry is none.
 */
static bool discard_looks_empty(const struct discard *d, pte_t *table, bool gather)
{
	if (d->remains || discard_is_last(d) || gather)
		return unmap_table_look(table);
	return unmap_table_glance(d->tlb->mm, table);
}

/* Nothing was cleared here, and the table waits already: it need not be looked at again. */
static bool discard_left_waiting(const struct discard *d, pte_t *table, unsigned long addr)
{
	return !d->entries && !d->others && unmap_table_waits(d->tlb->mm, virt_to_ptdesc(table)) &&
	       !discard_takes_all(d, addr, d->end);
}

/* The pass ended in the middle, and the next one goes on from there: something is left. */
static __always_inline bool discard_goes_on(const struct discard *d)
{
	return d->addr != d->limit && d->addr & ~PMD_MASK;
}

/*
 * Note the page table if it is empty now, or unhook it if the mmu_gather gets it.  Nearly
 * always it is enough to read one entry.
 */
static __always_inline enum discard_table
discard_notice_table(struct discard *d, pmd_t *pmd, pte_t *start, unsigned long addr,
		     spinlock_t *ptl)
{
	pte_t *table = unmap_table_of(start);
	bool all, gather;

	if (!IS_ENABLED(CONFIG_UNMAP_TABLES) || !d->tables || discard_goes_on(d) ||
	    unmap_table_stays(table))
		return TABLE_STAYS;
	all = discard_emptied_all(d, addr);
	if (!all && likely(unmap_table_watched_used(table)))
		return TABLE_STAYS;
	if (discard_left_waiting(d, table, addr))
		return TABLE_STAYS;
	if (d->tables_wanted == WANT_LATER && !discard_ask(d))
		return TABLE_STAYS;
	/*
	 * Ask once: the answer may change, and discard_looks_empty() looks at all entries only if
	 * it is true.
	 */
	gather = discard_is_for_gather(d, addr);
	if (!all && !discard_looks_empty(d, table, gather))
		return TABLE_STAYS;
	if ((all || discard_is_last(d)) && !gather && discard_lets_wait(d, table, addr)) {
		unmap_count(UNMAP_STAT_TABLES_NOTICED, all);
		return TABLE_STAYS;
	}
	if (discard_is_last(d) && discard_give_back(d, pmd, table, addr, ptl)) {
		unmap_count(UNMAP_STAT_TABLES_NOTICED, all);
		return TABLE_FLUSHED;
	}
	if (all)
		unmap_table_noticed(table);
	if (gather)
		return unmap_table_try_unhook(d->tlb, pmd, table, ptl) ?
		       TABLE_UNHOOKED : TABLE_EMPTIED;
	discard_note_table(d, pmd, addr);
	return TABLE_STAYS;
}

/* Free the page table, or hand it to the mmu_gather.  No page-table lock is held. */
static __always_inline void discard_gather_table(struct discard *d, pmd_t *pmd, pte_t *start,
						 unsigned long addr, enum discard_table state)
{
	pte_t *table = unmap_table_of(start);

	if (state == TABLE_STAYS)
		return;
	if (state == TABLE_FLUSHED || !IS_ENABLED(CONFIG_UNMAP_GATHER_TABLES)) {
		unmap_table_free(d->tables, table, addr);
		return;
	}
	if (state == TABLE_EMPTIED)
		table = unmap_table_unhook(d->tlb, d->vma, pmd);
	if (table)
		unmap_table_gather(d->tlb, table, addr);
}

static bool discard_gathered_many(const struct discard *d)
{
	if (likely(d->gathered < FREE_EVERY))
		return false;
	return d->gathered >= FREE_EVERY_THREADS || atomic_read(&d->tlb->mm->mm_users) <= 1;
}

/*
 * Free the gathered pages because there is no room for more, or because they are many.  The caller
 * flushes after the last stretch in any case.  The page-table lock was dropped.
 */
static void discard_free_gathered(struct discard *d)
{
	if (!d->force_flush && (!discard_gathered_many(d) || d->addr == d->limit))
		return;
	if (!d->force_flush)
		unmap_count(UNMAP_STAT_DISCARD_FLUSHES, 1);
	if (IS_ENABLED(CONFIG_UNMAP_GATHER_TABLES) && !d->force_flush)
		unmap_gather_flush_pages(d->tlb);
	else
		tlb_flush_mmu(d->tlb);
	d->gathered = 0;
}

/**
 * discard_range - discard what a stretch of one page table maps, whose lock is held
 * @d: set up for the stretch by discard_begin()
 * @pmd: holds the table
 * @start: the entry of the stretch's first address
 * @ptl: the table's lock, taken by discard_lock()
 *
 * Drops the lock.  For a table that is unhooked here it tries for the PMD lock.
 *
 * Return: the address where it stopped.  That is before the end of the stretch if
 * the mmu_gather was full, or the task should be rescheduled: the caller tries again from there.
 */
unsigned long discard_range(struct discard *d, pmd_t *pmd, pte_t *start, spinlock_t *ptl)
{
	unsigned long addr = d->addr;
	enum discard_table state;

	d->ptep = start;
	lazy_mmu_mode_enable();
	discard_entries(d);
	discard_settle_accounts(d);
	lazy_mmu_mode_disable();
	if (d->force_flush) {
		unmap_window();	/* for those who look for the mappings of written pages */
		tlb_flush_mmu_tlbonly(d->tlb);
		tlb_flush_rmaps(d->tlb, d->vma);
	}
	/* Law 7: only now, because it may take the table out of its PMD. */
	state = discard_notice_table(d, pmd, start, addr, ptl);
	pte_unmap_unlock(start, ptl);

	discard_free_gathered(d);
	discard_gather_table(d, pmd, start, addr, state);
	return d->addr;
}
