// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clearing a run and flushing it from the TLBs: one invalidation for all of its
 * entries, or one record for the deferred flush.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

#include "internal.h"
#include "run.h"

/* Law 2. */
static void run_assert_bounds(const struct unmap_op *op)
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
 * Record the flush for later.  Until it is made, another CPU may write through
 * its stale TLB entry.  It cannot make a page dirty whose entry was clean when it
 * was cleared: to set dirty, the CPU walks the page table again, and faults
 * (architectures that defer flushes must guarantee this; x86 and arm64 do).  If
 * the entry was dirty, that is recorded, and reclaim flushes before writeback.
 */
static void run_note_flush(struct unmap_op *op)
{
	struct pte_run *run = &op->run;

	run->noted = true;
	compat_note_flush(op->vma->vm_mm, run->pte, run->addr,
			  unmap_run_end(run));
	unmap_count(UNMAP_STAT_FLUSHES_DEFERRED, 1);
}

static void run_flush_now(const struct unmap_op *op)
{
	if (!pte_accessible(op->vma->vm_mm, op->run.pte))
		return;
	flush_tlb_range(op->vma, op->run.addr, unmap_run_end(&op->run));
	unmap_count(UNMAP_STAT_FLUSHES, 1);
}

/*
 * A single entry is cleared as in stock code.  If the flush is not deferred, use
 * ptep_clear_flush(): s390 has one instruction for both steps, others flush
 * caches in between.
 */
static void run_clear_one(struct unmap_op *op, bool defer)
{
	struct pte_run *run = &op->run;
	struct vm_area_struct *vma = op->vma;

	flush_cache_page(vma, run->addr, pte_pfn(run->pte));
	if (defer) {
		run->pte = ptep_get_and_clear(vma->vm_mm, run->addr, run->ptep);
		run_note_flush(op);
		return;
	}
	run->pte = ptep_clear_flush(vma, run->addr, run->ptep);
	unmap_count(UNMAP_STAT_FLUSHES, 1);
}

/*
 * If no other CPU has the mm in use, stock code flushes each entry at once.  For a
 * run, one full flush at the end of reclaim's batch is cheaper, as it is for ranges
 * of more than a few pages.  Not where that flush reaches other CPUs, too.  Not for dirty
 * folios: reclaim makes the deferred flush before each folio that it writes out.
 */
static bool run_worth_deferring(const struct unmap_op *op)
{
	return UNMAP_ARCH_ONE_FLUSH && !UNMAP_ARCH_FLUSH_REACHES_ALL &&
	       (op->flags & TTU_BATCH_FLUSH) &&
	       !pte_dirty(op->run.pte) && !folio_test_dirty(op->folio);
}

static void run_clear_many(struct unmap_op *op, bool defer)
{
	struct pte_run *run = &op->run;
	pte_t first = run->pte;

	flush_cache_range(op->vma, run->addr, unmap_run_end(run));
	run->pte = unmap_arch_clear(op->vma->vm_mm, run->addr, run->ptep,
				    run->nr, 0);
	/*
	 * Gathering dirty may have set soft-dirty, too (x86 pte_mkdirty() does).
	 * The entries agreed in soft-dirty: restore the first one's.
	 */
	if (!pte_soft_dirty(first))
		run->pte = pte_clear_soft_dirty(run->pte);
	if (defer || run_worth_deferring(op))
		run_note_flush(op);
	else
		run_flush_now(op);
}

/**
 * unmap_run_clear - clear a run's entries and flush them from the TLBs
 * @op: its @run's @pte gets the accessed and dirty bits of all entries
 *
 * With TTU_BATCH_FLUSH the TLBs may keep the translations until reclaim calls
 * try_to_unmap_flush().  The next holder of the page-table lock can make the
 * recorded flush itself (flush_tlb_batched_pending()).
 *
 * Law 1.  Page-table lock held on entry and return.
 */
void unmap_run_clear(struct unmap_op *op)
{
	struct mm_struct *mm = op->vma->vm_mm;
	struct pte_run *run = &op->run;

	run_assert_bounds(op);
	if (unlikely(!pte_present(run->pte)))
		pte_clear(mm, run->addr, run->ptep);
	else if (run->nr == 1)
		run_clear_one(op, should_defer_flush(mm, op->flags));
	else
		run_clear_many(op, should_defer_flush(mm, op->flags));
}
