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

/* vm_normal_page(), with a short path for ordinary entries, which nearly all are. */
static __always_inline struct page *discard_normal_page(const struct discard *d,
							pte_t pte)
{
	if (IS_ENABLED(CONFIG_ARCH_HAS_PTE_SPECIAL) && !pte_special(pte) &&
	    likely(pte_pfn(pte) <= highest_memmap_pfn))
		return pte_page(pte);
	return vm_normal_page(d->vma, d->addr, pte);
}

/* Law 2: the longest run that may begin at @page of this large folio. */
static unsigned int discard_run_limit(const struct discard *d, struct folio *folio,
				      struct page *page)
{
	unsigned long nr = folio_nr_pages(folio) - folio_page_idx(folio, page);

	nr = min_t(unsigned long, nr, discard_left(d));
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/*
 * The bits in which all entries of a run agree.  Write permission, soft-dirty,
 * accessed and dirty of discarded entries do not matter any more; the PFN, uffd-wp
 * and the architecture's other bits do.
 */
static pte_t discard_alike_key(pte_t pte)
{
	return pte_wrprotect(pte_mkold(pte_mkclean(pte_clear_soft_dirty(pte))));
}

/* The difference between the entries of two consecutive pages. */
static inline u64 discard_pte_step(pte_t pte)
{
	return pte_val(pte_advance_pfn(pte, 1)) - pte_val(pte);
}

/* Nearly always all bits agree, so compare all of them first. */
static __always_inline bool discard_is_alike(pte_t pte, pte_t want)
{
	return pte_same(pte, want) ||
	       unlikely(pte_same(discard_alike_key(pte), discard_alike_key(want)));
}

/* The same for four entries: check the bits in which any differs from its expected value. */
static __always_inline bool discard_four_alike(const pte_t *ptep, pte_t want, u64 step)
{
	pte_t differ;

	if (!UNMAP_ARCH_FOURS)
		return false;
	differ = unmap_arch_differ(ptep, want, step);
	return !pte_val(differ) || unlikely(!pte_val(discard_alike_key(differ)));
}

/*
 * Clear entries of a run as they are found, with plain stores (x86-64).  A locked
 * exchange would differ in two ways only.
 *
 * It returns accessed and dirty bits that hardware has set since the load.  They do
 * not matter for anonymous memory that goes away: stock code ignores them, too.
 *
 * It is a memory barrier.  Here the locked decrement of the mapcount is the barrier
 * before anything is freed, and the locked increment of tlb_gen the one before any
 * flush.  GUP-fast takes its reference by a locked operation and then reads the
 * entry again: either it sees the entry gone and gives up, or its reference was
 * there before this code drops its own, and the page stays.
 *
 * Software changes entries with the page-table lock held.  Page walkers of
 * processors, IOMMUs and hypervisors only set accessed and dirty, atomically, and in
 * present entries: they cannot restore a cleared entry.  (Xeon Phi may set these two
 * bits in a cleared entry; pte_none() of x86 ignores them.)
 *
 * The last argument of clear_full_ptes() is 1 although the mm may live on.  On x86,
 * which alone takes this path, that selects a plain store and nothing else;
 * page_table_check is still called.
 */
static __always_inline void discard_clear_entries(struct discard *d, unsigned int at,
						  unsigned int nr, bool clear)
{
	if (clear)
		clear_full_ptes(d->tlb->mm, d->addr + at * PAGE_SIZE, d->ptep + at, nr, 1);
}

/*
 * Extend a run of @nr entries, four at a time, to @limit at most.  @want is the expected
 * value of the next entry, and is advanced.  Returns the new length.
 */
static __always_inline unsigned int discard_take_fours(struct discard *d, unsigned int nr,
						       pte_t *want, u64 step,
						       unsigned int limit, bool clear)
{
	while (nr + 4 <= limit && discard_four_alike(d->ptep + nr, *want, step)) {
		discard_clear_entries(d, nr, 4, clear);
		*want = __pte(pte_val(*want) + 4 * step);
		nr += 4;
	}
	return nr;
}

/*
 * Find the length of the run that begins with @pte; if @clear, clear its entries as they
 * are found.  The first entry belongs to the run without a comparison.  A single entry is
 * the base for what the next one should be: bits that do not matter may change in a run.
 */
static __always_inline unsigned int discard_take_run(struct discard *d, pte_t pte,
						     unsigned int limit, bool clear)
{
	u64 step = discard_pte_step(pte);
	unsigned int nr = 0;
	pte_t next;

	if (limit == 1) {
		discard_clear_entries(d, 0, 1, clear);
		return 1;
	}
	for (;;) {
		nr = discard_take_fours(d, nr, &pte, step, limit, clear);
		if (nr == limit)
			break;
		next = ptep_get(d->ptep + nr);
		if (nr && !discard_is_alike(next, pte))
			break;
		pte = __pte(pte_val(next) + step);
		discard_clear_entries(d, nr++, 1, clear);
	}
	return nr;
}

/* Find a run's length without clearing it, four entries at a time where possible. */
static __always_inline unsigned int discard_run_length(struct discard *d, pte_t pte,
						       struct folio *folio,
						       unsigned int limit)
{
	if (limit == 1)
		return 1;
	if (UNMAP_ARCH_FOURS)
		return discard_take_run(d, pte, limit, false);
	return folio_pte_batch(folio, d->addr, d->ptep, pte, limit,
			       FPB_IGNORE_DIRTY | FPB_IGNORE_SOFT_DIRTY,
			       NULL, NULL, NULL);
}

static __always_inline unsigned int discard_clear_anon(struct discard *d, pte_t pte,
						       struct folio *folio,
						       unsigned int limit)
{
	unsigned int nr;

	if (IS_ENABLED(CONFIG_UNMAP_PLAIN_CLEAR))
		return discard_take_run(d, pte, limit, true);
	nr = discard_run_length(d, pte, folio, limit);
	clear_full_ptes(d->tlb->mm, d->addr, d->ptep, nr, d->tlb->fullmm);
	return nr;
}

/* Remove the rmap of a run.  print_bad_pte() reports mapcounts that become negative. */
static __always_inline void discard_drop_rmap(struct discard *d, struct folio *folio,
					      struct page *page, unsigned int nr, pte_t pte,
					      bool anon, bool large)
{
	int gone;

	__folio_rmap_sanity_checks(folio, page, nr, RMAP_LEVEL_PTE);
	if (unlikely(d->vma->vm_flags & VM_LOCKED)) {
		folio_remove_rmap_ptes(folio, page, nr, d->vma);
	} else {
		gone = large ? discard_rmap_large(folio, page, nr) :
			       atomic_add_negative(-1, &folio->_mapcount);
		if (gone)
			discard_owe(&d->debt, folio,
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

static __always_inline void discard_count_rss(struct discard *d, int counter,
					      unsigned int nr)
{
	d->rss[counter] -= nr;
}

static __always_inline unsigned int discard_anon(struct discard *d, pte_t pte,
						 struct folio *folio,
						 struct page *page,
						 bool large)
{
	unsigned int limit = large ? discard_run_limit(d, folio, page) : 1;
	unsigned int nr = discard_clear_anon(d, pte, folio, limit);

	discard_count_rss(d, MM_ANONPAGES, nr);
	discard_note_cleared(d, nr, pte);
	discard_drop_rmap(d, folio, page, nr, pte, true, large);
	discard_gather(d, page, nr, false);
	return nr;
}

/*
 * Other CPUs may write through stale TLB entries until the flush.  Keep the rmap until
 * then (return true), so that writeback does not clean the folio before.
 */
static bool discard_pass_on_dirty(struct discard *d, struct folio *folio)
{
	folio_mark_dirty(folio);
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
	unsigned int nr = discard_run_length(d, pte, folio, limit);

	pte = unmap_arch_clear(d->tlb->mm, d->addr, d->ptep, nr, d->tlb->fullmm);
	if (pte_dirty(pte))
		delay_rmap = discard_pass_on_dirty(d, folio);
	if (pte_young(pte) && likely(vma_has_recency(d->vma)))
		folio_mark_accessed(folio);
	discard_count_rss(d, mm_counter(folio), nr);
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
	struct page *page = discard_normal_page(d, pte);
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
	while (nr < left && pte_none(ptep_get(d->ptep + nr)))
		nr++;
	return nr;
}

/* Discard up to @d->end.  Stops early if the task should be rescheduled or flush. */
static void discard_entries(struct discard *d)
{
	unsigned int nr;
	pte_t pte;

	while (d->addr < d->end) {
		pte = ptep_get(d->ptep);
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
	discard_pay_debt(&d->debt);
	for (i = 0; i < NR_MM_COUNTERS; i++)
		if (d->rss[i])
			add_mm_counter(d->tlb->mm, i, d->rss[i]);
	unmap_count(UNMAP_STAT_DISCARD_RUNS, d->runs);
	unmap_count(UNMAP_STAT_DISCARD_ENTRIES, d->entries);
}

/* This pass covered the whole table, and each entry was none or is none now. */
static __always_inline bool discard_emptied_all(const struct discard *d, unsigned long addr)
{
	return d->addr - addr == PMD_SIZE && !d->remains;
}

/* Note the page table if it is empty now.  Nearly always it is enough to read one entry. */
static __always_inline void discard_notice_table(struct discard *d, pmd_t *pmd, pte_t *start,
						 unsigned long addr)
{
	pte_t *table = unmap_table_of(start);

	if (!d->tables)
		return;
	if (discard_emptied_all(d, addr))
		unmap_table_noticed(table);
	else if (!unmap_table_emptied(table))
		return;
	discard_note_table(d, pmd, addr);
}

/**
 * discard_range - discard what a stretch of one page table maps
 * @d: set up for the stretch by discard_begin()
 * @pmd: the caller has seen a page table in it
 *
 * Takes and drops the page-table lock.
 *
 * Return: the address where it stopped.  That is before the end of the stretch if
 * the mmu_gather was full, the task should be rescheduled, or the page table has
 * gone: the caller tries again from there.
 */
unsigned long discard_range(struct discard *d, pmd_t *pmd)
{
	struct mm_struct *mm = d->tlb->mm;
	unsigned long addr = d->addr;
	spinlock_t *ptl = NULL;
	pte_t *start;

	tlb_change_page_size(d->tlb, PAGE_SIZE);
	start = pte_offset_map_lock(mm, pmd, addr, &ptl);
	if (!start)
		return addr;
	d->ptep = start;

	flush_tlb_batched_pending(mm);
	arch_enter_lazy_mmu_mode();
	discard_entries(d);
	discard_settle_accounts(d);
	arch_leave_lazy_mmu_mode();
	discard_notice_table(d, pmd, start, addr);

	if (d->force_flush) {
		tlb_flush_mmu_tlbonly(d->tlb);
		tlb_flush_rmaps(d->tlb, d->vma);
	}
	pte_unmap_unlock(start, ptl);

	/* Free the gathered pages, now that the lock is dropped: makes room for more. */
	if (d->force_flush)
		tlb_flush_mmu(d->tlb);
	return d->addr;
}
