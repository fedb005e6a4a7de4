// SPDX-License-Identifier: GPL-2.0-only
/*
 * TLB: one invalidation for a run, or one note for the deferred flush.
 */
#include <linux/hugetlb.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

#include "internal.h"

static void flush_now(struct pte_run *run, struct vm_area_struct *vma)
{
	unsigned long start = run->addr;

	if (run->nr == 1)
		flush_tlb_page(vma, start);
	else
		flush_tlb_range(vma, start, start + run->nr * PAGE_SIZE);
	unmap_count(UNMAP_STAT_FLUSHES, 1);
}

/*
 * Another CPU may go on writing through its TLB until the deferred flush.
 * An entry that was clean when it was cleared cannot become dirty that way:
 * architectures that defer must fault instead (x86 and arm64 walk the table
 * again to set dirty).  One that was dirty is recorded as such, and reclaim
 * flushes before it starts writing.
 */
static void flush_later(struct pte_run *run, struct mm_struct *mm)
{
	compat_note_flush(mm, run->pte, run->addr,
			  run->addr + run->nr * PAGE_SIZE);
	unmap_count(UNMAP_STAT_FLUSHES_DEFERRED, 1);
}

/**
 * unmap_flush_run - make TLBs forget a run, now or before reclaim goes on
 * @run: as unmap_run_clear() left it
 * @op: says whether the caller collects deferred flushes (TTU_BATCH_FLUSH)
 *
 * Law 1.  Page-table lock held on entry and return: whoever takes it next
 * finds the deferred flush on record (flush_tlb_batched_pending()).
 */
void unmap_flush_run(struct pte_run *run, struct unmap_op *op)
{
	struct mm_struct *mm = op->vma->vm_mm;

	if (!pte_present(run->pte) || !pte_accessible(mm, run->pte))
		return;
	if (unmap_sabotaged(UNMAP_SABOTAGE_FLUSH))
		return;
	if (should_defer_flush(mm, op->flags))
		flush_later(run, mm);
	else
		flush_now(run, op->vma);
}
