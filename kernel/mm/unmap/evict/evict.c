// SPDX-License-Identifier: GPL-2.0-only
/*
 * try_to_unmap(): walk a folio's mappings and unmap them a run at a time.
 *
 * The walk decides once per run which leftover to write; evict_swap.c and evict_poison.c
 * write theirs, and evict_lazyfree.c decides whether a run may go.
 * A hugetlb folio has one entry and a walk of its own, in evict_hugetlb.c.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../compat_rmap.h"
#include "evict.h"
#include "../flush.h"
#include "../internal.h"
#include "../run.h"
#include "../tables/table.h"

/* How the walk goes on after one step. */
enum evict_step {
	EVICT_NEXT,	/* go on to the folio's next entry */
	EVICT_DONE,	/* the folio's last entry in this VMA is gone */
	EVICT_FAILED,	/* something must stay: stop */
};

static bool evict_held_by_mlock(const struct unmap_op *op)
{
	return !(op->flags & TTU_IGNORE_MLOCK) && op->vma->vm_flags & VM_LOCKED;
}

/*
 * A folio in a mlocked VMA stays mapped; mlock it here if that was missed before.  A large
 * folio only if the VMA maps all of it, by one page table: its lock is held from the first
 * entry to the last.
 */
static enum evict_step evict_mlock(struct unmap_op *op, struct page_vma_mapped_walk *pvmw)
{
	bool large = folio_test_large(op->folio);

	if (large && !COMPAT_MLOCKS_LARGE)
		return EVICT_FAILED;
	op->mlocked++;
	if (large && pvmw->pte && op->mlocked != pvmw->nr_pages)
		return EVICT_NEXT;
	if (!(pvmw->flags & PVMW_PGTABLE_CROSSED))
		mlock_vma_folio(op->folio, op->vma);
	return EVICT_FAILED;
}

/*
 * Split the huge PMD that maps the folio.  Drops the lock of the walk (pvmw->ptl): the
 * walk restarts, and finds PTEs.
 */
static enum evict_step evict_split_pmd(struct unmap_op *op,
				       struct page_vma_mapped_walk *pvmw)
{
	VM_WARN_ON_ONCE_FOLIO(!(op->flags & TTU_SPLIT_HUGE_PMD), op->folio);
	if (!(op->flags & TTU_SPLIT_HUGE_PMD))
		return EVICT_FAILED;

	compat_split_huge_pmd_locked(op->vma, pvmw->address, pvmw->pmd, op->folio, false);
	op->flags &= ~TTU_SPLIT_HUGE_PMD;
	page_vma_mapped_walk_restart(pvmw);
	return EVICT_NEXT;
}

/* Find out which page of a large folio the run begins with, and how many follow. */
static __always_inline void evict_find_pages(struct unmap_op *op)
{
	struct pte_run *run = &op->run;

	run->page = folio_page(op->folio,
			       unmap_run_pfn(run->pte) - folio_pfn(op->folio));
	unmap_run_find(op);
}

/* Law 9. */
static void evict_assert_one_page(const struct unmap_op *op)
{
	struct folio *folio = op->folio;

	VM_WARN_ON_ONCE_FOLIO(folio_test_large(folio), folio);
	VM_WARN_ON_ONCE_FOLIO(unmap_run_pfn(op->run.pte) != folio_pfn(folio), folio);
}

/* With TTU_HWPOISON a run has one page, so this tests all of it. */
static bool evict_is_poisoned(const struct unmap_op *op)
{
	return unlikely(op->flags & TTU_HWPOISON) && PageHWPoison(op->run.page);
}

/* Retire a run, or put it back if there is a reason.  False: it was put back. */
static __always_inline bool evict_finish(struct unmap_op *op, unsigned int nr,
					 enum unmap_reason reason, int counter,
					 enum unmap_kind kind)
{
	if (unlikely(reason != UNMAP_GOES)) {
		unmap_run_put_back(op, reason);
		return false;
	}
	unmap_run_retire(op, nr, counter, kind);
	return true;
}

/*
 * Page-cache folios (files and shmem).  The entries become none: a later fault finds the
 * folio in the page cache.  If userfaultfd write-protected the pages, the leftover is a
 * userfaultfd marker.
 *
 * The folio lock keeps the folio in the page cache until the MMU notifiers have been
 * called, so no device can use a page that has been replaced in the page cache
 * (Documentation/mm/mmu_notifier.rst).
 */
static __always_inline bool evict_file(struct unmap_op *op, unsigned int nr)
{
	VM_WARN_ON_ONCE_FOLIO(!pte_present(op->run.pte), op->folio);
	VM_WARN_ON_ONCE_FOLIO(op->run.deferred && run_is_written_back(op), op->folio);

	if (unlikely(pte_uffd(op->run.pte)))
		unmap_run_leave_markers(op->vma, &op->run);
	return evict_finish(op, nr, UNMAP_GOES, mm_counter_file(op->folio), UNMAP_KIND_FILE);
}

static __always_inline bool evict_swap(struct unmap_op *op, unsigned int nr)
{
	enum unmap_reason reason = unmap_swap_leave(op);

	if (likely(reason == UNMAP_GOES))
		add_mm_counter(op->vma->vm_mm, MM_SWAPENTS, nr);
	return evict_finish(op, nr, reason, MM_ANONPAGES, UNMAP_KIND_SWAP);
}

/*
 * Choose the leftover of a run of @nr, and write it.  False: the run was put back.  Inline,
 * because @nr is a constant for single pages.
 */
static __always_inline bool evict_leave(struct unmap_op *op, unsigned int nr)
{
	if (evict_is_poisoned(op))
		return unmap_evict_poison(op);
	if (unmap_run_is_unused(op))
		return evict_finish(op, nr, UNMAP_GOES, mm_counter(op->folio),
				    UNMAP_KIND_UNUSED);
	if (!folio_test_anon(op->folio))
		return evict_file(op, nr);
	if (folio_test_swapbacked(op->folio))
		return evict_swap(op, nr);
	return evict_finish(op, nr, unmap_lazyfree_leave(op), MM_ANONPAGES,
			    UNMAP_KIND_LAZYFREE);
}

/*
 * Whether the entry after the run or the run's leftover is in use.  Nearly always one of
 * them is, and then the table is not empty: there is no need to check the watched entry.
 */
static __always_inline bool evict_in_use_nearby(const struct pte_run *run, unsigned int nr)
{
	pte_t *next = run->ptep + nr;

	return (!PAGE_ALIGNED(next) && !pte_none(unmap_arch_peek(next))) ||
	       !pte_none(unmap_arch_peek(run->ptep));
}

/*
 * If the run seems to be the last in its page table, let the table wait.  It cannot be freed here,
 * because reclaim may still have to make the deferred flush, and holds no mmap lock.
 */
static __always_inline void evict_notice_table(const struct unmap_op *op, unsigned int nr)
{
	pte_t *table = unmap_table_of(op->run.ptep);

	if (!unmap_tables_enabled() || likely(evict_in_use_nearby(&op->run, nr)))
		return;
	if (unmap_table_emptied(op->vma->vm_mm, table))
		unmap_table_wait(op->vma->vm_mm, table, op->run.addr);
}

/*
 * Evict a cleared run of @nr.  False: it was put back.  Inline, because @nr is a constant for
 * folios of one page (law 9).
 */
static __always_inline bool evict_cleared(struct unmap_op *op, unsigned int nr)
{
	if (pte_dirty(op->run.pte) && pte_present(op->run.pte))
		unmap_mark_dirty(op->folio);
	if (!evict_leave(op, nr))
		return false;
	evict_notice_table(op, nr);
	return true;
}

/**
 * unmap_evict_aim - point @op at the entries of a folio that a walk has found
 * @op: its other fields are set; gets the run, which is not cleared
 * @pvmw: at an entry; its page-table lock is held on entry and return
 */
void unmap_evict_aim(struct unmap_op *op, struct page_vma_mapped_walk *pvmw)
{
	lockdep_assert_held(pvmw->ptl);
	unmap_run_start(op, pvmw);
	if (pvmw->nr_pages > 1)
		evict_find_pages(op);
}

/* Evict @op's @run, which is cleared.  False: it was put back.  Locks as above. */
bool unmap_evict_cleared(struct unmap_op *op)
{
	return evict_cleared(op, op->run.nr);
}

/* One step of the walk.  The page-table lock (pvmw->ptl) is held. */
static __always_inline enum evict_step evict_step(struct unmap_op *op,
						  struct page_vma_mapped_walk *pvmw)
{
	lockdep_assert_held(pvmw->ptl);
	if (evict_held_by_mlock(op))
		return evict_mlock(op, pvmw);
	if (unlikely(!pvmw->pte))
		return evict_split_pmd(op, pvmw);

	unmap_run_start(op, pvmw);
	if (pvmw->nr_pages == 1) {
		evict_assert_one_page(op);
		unmap_run_clear_one(op);
		return evict_cleared(op, 1) ? EVICT_DONE : EVICT_FAILED;
	}
	evict_find_pages(op);
	unmap_run_clear(op);
	if (!evict_cleared(op, op->run.nr))
		return EVICT_FAILED;
	if (op->run.nr == pvmw->nr_pages)
		return EVICT_DONE;
	unmap_run_walk_past(pvmw, op->run.nr);
	return EVICT_NEXT;
}

/**
 * unmap_evict_first - evict a single page, and nothing behind it yet
 * @op: its other fields are set; gets the run
 * @pvmw: at the page's entry; its page-table lock is held on entry and return
 *
 * If nothing behind it goes, the caller calls unmap_evict_notice_table().
 *
 * Return: whether the page is gone.
 */
bool unmap_evict_first(struct unmap_op *op, struct page_vma_mapped_walk *pvmw)
{
	return evict_step(op, pvmw) == EVICT_DONE;
}

/* A run of one page that @op has evicted was perhaps the last in its table.  Locks as above. */
void unmap_evict_notice_table(const struct unmap_op *op)
{
	evict_notice_table(op, 1);
}

static bool evict_walk(struct unmap_op *op, struct page_vma_mapped_walk *pvmw)
{
	enum evict_step step;

	while (page_vma_mapped_walk(pvmw)) {
		step = evict_step(op, pvmw);
		if (step == EVICT_NEXT)
			continue;
		page_vma_mapped_walk_done(pvmw);
		return step == EVICT_DONE;
	}
	return !op->mlocked;
}

/**
 * unmap_evict_from_vma - evict a folio from one VMA
 * @folio: locked; its rmap lock is held for reading
 * @vma: may map it
 * @address: where, if it does
 * @arg: flags as for try_to_unmap()
 *
 * Called by the rmap walk.  Only the MMU notifiers may sleep.
 *
 * Return: false stops the rmap walk.
 */
bool unmap_evict_from_vma(struct folio *folio, struct vm_area_struct *vma,
			  unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct mmu_notifier_range range;
	struct unmap_op op __uninitialized;
	bool gone;

	unmap_op_begin(&op, folio, vma, (enum ttu_flags)(long)arg);
	/*
	 * TTU_SYNC: take each page-table lock, and so wait for others who have
	 * cleared an entry but not yet removed its rmap.  Then folio_mapped()
	 * is exact afterwards.
	 */
	if (op.flags & TTU_SYNC)
		pvmw.flags = PVMW_SYNC;

	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, vma->vm_mm,
				address, vma_address_end(&pvmw));
	mmu_notifier_invalidate_range_start(&range);
	gone = evict_walk(&op, &pvmw);
	mmu_notifier_invalidate_range_end(&range);
	return gone;
}

int unmap_folio_is_unmapped(struct folio *folio)
{
	return !folio_mapped(folio);
}

/* try_to_unmap(), switched on. */
void unmap_evict(struct folio *folio, enum ttu_flags flags)
{
	struct rmap_walk_control rwc = {
		.rmap_one = folio_test_hugetlb(folio) ? unmap_hugetlb_from_vma :
							unmap_evict_from_vma,
		.arg = (void *)(long)flags,
		.done = unmap_folio_is_unmapped,
		.anon_lock = folio_lock_anon_vma_read,
	};

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	if (flags & TTU_RMAP_LOCKED)
		rmap_walk_locked(folio, &rwc);
	else
		rmap_walk(folio, &rwc);
}

/**
 * try_to_unmap - take a folio out of all page tables that map it
 * @folio: the folio, locked and referenced by the caller
 * @flags: what to ignore, what to split, when to flush (enum ttu_flags)
 *
 * May fail in part or in whole: the caller checks folio_mapped() afterwards, and
 * passes TTU_SYNC if that answer must be exact.  With TTU_BATCH_FLUSH the caller
 * must call try_to_unmap_flush() before it frees the folio, and
 * try_to_unmap_flush_dirty() before it writes the folio.
 */
void try_to_unmap(struct folio *folio, enum ttu_flags flags)
{
	if (unmap_enabled(UNMAP_BIT_EVICT))
		unmap_evict(folio, flags);
	else
		stock_try_to_unmap(folio, flags);
}
