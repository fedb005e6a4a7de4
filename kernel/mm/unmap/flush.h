/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clearing a run and flushing it from the TLBs.  All of these functions are called and return
 * with the page-table lock held.
 *
 * What a run of one executes is inline, as in run.h (law 9).
 */
#ifndef __MM_UNMAP_FLUSH_H
#define __MM_UNMAP_FLUSH_H

#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

#include "internal.h"
#include "run.h"
#include "stat.h"

void unmap_run_clear(struct unmap_op *op);
void unmap_run_clear_locked(struct unmap_op *op);

/* Law 2. */
static inline void run_assert_bounds(const struct unmap_op *op)
{
	const struct pte_run *run = &op->run;
	unsigned long last = unmap_run_end(run) - 1;

	VM_WARN_ON_ONCE(!run->nr);
	VM_WARN_ON_ONCE((run->addr ^ last) & PMD_MASK);
	VM_WARN_ON_ONCE(run->addr < op->vma->vm_start);
	VM_WARN_ON_ONCE(last >= op->vma->vm_end);
	VM_WARN_ON_ONCE(folio_page_idx(op->folio, run->page) + run->nr >
			folio_nr_pages(op->folio));
}

/*
 * CPUs may begin and cease to use the mm meanwhile: whichever flush is chosen, it reads which of
 * them do after the entries were cleared.
 */
static inline bool run_defers_flush(const struct unmap_op *op)
{
	return (op->flags & TTU_BATCH_FLUSH) &&
	       data_race(unmap_arch_defers_flushes(op->vma->vm_mm));
}

/*
 * Law 1.  Whether another CPU may still write to a page of a file that writeback writes:
 * writeback does not flush, because it finds the page unmapped, and would take it for clean.
 * Reclaim unlocks such a page before it makes the deferred flush.  Swap-backed pages are written by
 * reclaim, which flushes before.
 */
static inline bool run_is_written_back(const struct unmap_op *op)
{
	return pte_dirty(op->run.pte) && !folio_test_anon(op->folio) &&
	       !folio_test_swapbacked(op->folio);
}

/*
 * Record the flush for later.  Until it is made, another CPU may write through
 * its stale TLB entry.  It cannot make a page dirty whose entry was clean when it
 * was cleared: to set dirty, the CPU walks the page table again, and faults
 * (architectures that defer flushes must guarantee this; x86 and arm64 do).  If
 * the entry was dirty, that is recorded, and reclaim flushes before writeback.
 */
static inline void run_note_flush(struct unmap_op *op)
{
	struct pte_run *run = &op->run;

	run->deferred = true;
	compat_note_flush(op->vma, run->pte, run->addr, unmap_run_end(run));
	unmap_count(UNMAP_STAT_FLUSHES_DEFERRED, 1);
}

/*
 * One flush for the cleared entries of neighbouring pages, which are the run: now, or noted.  It is
 * noted even if no other CPU uses the mm, where that costs one full flush when the caller's caller
 * makes the noted flushes.
 */
static inline void run_flush_together(struct unmap_op *op)
{
	struct pte_run *all = &op->run;

	if (run_defers_flush(op) || (UNMAP_ARCH_ONE_FLUSH && !UNMAP_ARCH_FLUSH_REACHES_ALL)) {
		run_note_flush(op);
		return;
	}
	flush_tlb_range(op->vma, all->addr, unmap_run_end(all));
	unmap_count(UNMAP_STAT_FLUSHES, 1);
}

static inline void run_flush_one(const struct unmap_op *op)
{
	if (!pte_accessible(op->vma->vm_mm, op->run.pte))
		return;
	flush_tlb_page(op->vma, op->run.addr);
	unmap_count(UNMAP_STAT_FLUSHES, 1);
}

/* ptep_clear_flush(), or its two steps. */
static __always_inline void run_clear_flush(struct unmap_op *op)
{
	struct pte_run *run = &op->run;
	struct vm_area_struct *vma = op->vma;

	if (UNMAP_ARCH_CLEARS_AND_FLUSHES) {
		run->pte = ptep_clear_flush(vma, run->addr, run->ptep);
		unmap_count(UNMAP_STAT_FLUSHES, 1);
		return;
	}
	run->pte = ptep_get_and_clear(vma->vm_mm, run->addr, run->ptep);
	run_flush_one(op);
}

/*
 * unmap_run_clear() for a single entry; @locked: the folio stays locked until the flush, or until
 * it is mapped again, so that writeback cannot take it for clean.
 */
static __always_inline void __unmap_run_clear_one(struct unmap_op *op, bool locked)
{
	struct pte_run *run = &op->run;
	struct mm_struct *mm = op->vma->vm_mm;

	run_assert_bounds(op);
	VM_WARN_ON_ONCE(run->nr != 1);
	if (unlikely(!pte_present(run->pte))) {
		pte_clear(mm, run->addr, run->ptep);
		return;
	}
	flush_cache_page(op->vma, run->addr, pte_pfn(run->pte));
	if (!run_defers_flush(op)) {
		run_clear_flush(op);
		return;
	}
	run->pte = ptep_get_and_clear(mm, run->addr, run->ptep);
	if (!locked && run_is_written_back(op))
		run_flush_one(op);
	else
		run_note_flush(op);
}

static __always_inline void unmap_run_clear_one(struct unmap_op *op)
{
	__unmap_run_clear_one(op, false);
}

/* Whether this task has recorded flushes that it has not made yet. */
static inline bool unmap_flush_is_due(void)
{
#ifdef CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH
	return current->tlb_ubc.flush_required;
#else
	return false;
#endif
}

/* Whether reclaim must make the recorded flushes before it writes what it has unmapped. */
static inline bool unmap_flush_precedes_write(void)
{
#ifdef CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH
	return current->tlb_ubc.writable;
#else
	return false;
#endif
}

#endif /* __MM_UNMAP_FLUSH_H */
