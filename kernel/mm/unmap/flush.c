// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clearing a run, and making TLBs forget it: one invalidation for all of its
 * entries, or one note for the deferred flush.
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
 * Another CPU may go on writing through its TLB until the deferred flush.
 * An entry that was clean when it was cleared cannot become dirty that way:
 * architectures that defer must fault instead (x86 and arm64 walk the table
 * again to set dirty).  One that was dirty is recorded as such, and reclaim
 * flushes before it starts writing.
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
 * A single entry goes the way it always went.  Clearing and flushing are one
 * operation where they need not be deferred: s390 has an instruction for
 * both, others flush caches in between.
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
 * Where no other CPU has to be told, stock flushes at once, entry by entry.  For
 * entries of large folios one flush of everything at the end of a batch is
 * cheaper, as it is for ranges of more than a few pages, unless they are dirty:
 * reclaim flushes before each folio that it writes.
 */
static bool run_worth_deferring(const struct unmap_op *op)
{
	return UNMAP_ARCH_ONE_FLUSH && (op->flags & TTU_BATCH_FLUSH) &&
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
	 * Gathering dirty may have set soft-dirty as well (x86 pte_mkdirty()
	 * does).  The entries agreed in it, so the first one tells.
	 */
	if (!pte_soft_dirty(first))
		run->pte = pte_clear_soft_dirty(run->pte);
	if (defer || run_worth_deferring(op))
		run_note_flush(op);
	else
		run_flush_now(op);
}

/**
 * unmap_run_clear - take a run's entries out of the page table and the TLBs
 * @op: accessed and dirty of all entries are gathered in its @run's @pte
 *
 * With TTU_BATCH_FLUSH the TLBs may keep the translations until reclaim calls
 * try_to_unmap_flush().  Whoever takes the page-table lock next finds that on
 * record (flush_tlb_batched_pending()).
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
