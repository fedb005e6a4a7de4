// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evicting swap-backed anonymous folios, KSM folios too: the leftovers are swap
 * entries.  The folio is locked and in the swap cache, so each page has a swap
 * entry, and consecutive pages have consecutive ones.
 */
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched/task.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../compat_swap.h"
#include "evict.h"
#include "../internal.h"
#include "../leave.h"

/* swapoff searches the mms on this list for swap entries. */
static void swap_join_mmlist(struct mm_struct *mm)
{
	if (likely(!list_empty(&mm->mmlist)))
		return;
	spin_lock(&mmlist_lock);
	if (list_empty(&mm->mmlist))
		list_add(&mm->mmlist, &init_mm.mmlist);
	spin_unlock(&mmlist_lock);
}

/* The swap PTE of the run's first page. */
static pte_t swap_pte(const struct unmap_op *op, swp_entry_t entry, bool exclusive)
{
	pte_t pte = unmap_leave_marks(swp_entry_to_pte(entry), op->run.pte);

	return exclusive ? pte_swp_mkexclusive(pte) : pte;
}

/* Do all that can fail.  On failure nothing has changed. */
static enum unmap_reason swap_prepare(struct unmap_op *op, swp_entry_t entry,
				      bool exclusive)
{
	enum unmap_reason reason = UNMAP_GOES;
	struct vm_area_struct *vma = op->vma;

	if (!compat_swap_take(entry, op->run.nr))
		return UNMAP_STAYS_SWAP_COUNT;
	/* An architecture that keeps data beside an entry saves it; its runs have one entry. */
	if (arch_unmap_one(vma->vm_mm, vma, op->run.addr, op->run.pte) < 0)
		reason = UNMAP_STAYS_ARCH;
	else if (exclusive && !unmap_give_up_exclusive(op))
		reason = UNMAP_STAYS_PINNED;
	if (reason != UNMAP_GOES)
		compat_swap_drop(entry, op->run.nr);
	return reason;
}

/* Law 6: the pages are not exclusive any more, and their swap entries are if they were. */
static void swap_assert_exclusive_kept(const struct unmap_op *op, bool exclusive)
{
	const struct pte_run *run = &op->run;
	unsigned int last = run->nr - 1;

	VM_WARN_ON_ONCE_FOLIO(compat_anon_exclusive(run->page), op->folio);
	VM_WARN_ON_ONCE_FOLIO(compat_anon_exclusive(run->page + last), op->folio);
	VM_WARN_ON_ONCE_FOLIO(!pte_swp_exclusive(ptep_get(run->ptep)) == exclusive,
			      op->folio);
	VM_WARN_ON_ONCE_FOLIO(!pte_swp_exclusive(ptep_get(run->ptep + last)) ==
			      exclusive, op->folio);
}

/**
 * unmap_swap_leave - write swap entries in place of a run
 * @op: its @run is cleared
 *
 * Page-table lock held on entry and return.  The caller counts the swap entries.
 *
 * Return: UNMAP_GOES; or why the run must be put back: then nothing has changed.
 */
enum unmap_reason unmap_swap_leave(struct unmap_op *op)
{
	struct folio *folio = op->folio;
	struct page *page = op->run.page;
	bool exclusive = compat_anon_exclusive(page);
	enum unmap_reason reason;
	swp_entry_t entry = folio->swap;

	/* memory_failure() may pass a folio that reclaim has not added to the swap cache. */
	if (WARN_ON_ONCE(!folio_test_swapcache(folio)))
		return UNMAP_STAYS_NO_SWAP;
	entry.val += folio_page_idx(folio, page);
	reason = swap_prepare(op, entry, exclusive);
	if (reason != UNMAP_GOES)
		return reason;

	swap_join_mmlist(op->vma->vm_mm);
	unmap_leave_entries(op, swap_pte(op, entry, exclusive));
	swap_assert_exclusive_kept(op, exclusive);
	return UNMAP_GOES;
}
