// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evicting lazyfree folios: anonymous memory marked by MADV_FREE (or
 * MAP_DROPPABLE).  Its content may be dropped unless it was written again.
 */
#include <linux/pgtable.h>

#include "evict.h"
#include "../internal.h"
#include "../run.h"

/* A VM_DROPPABLE mapping may lose its pages even if they were written. */
static bool lazyfree_dirty_counts(const struct unmap_op *op)
{
	return !(op->vma->vm_flags & VM_DROPPABLE);
}

/**
 * unmap_lazyfree_judge - whether a cleared run of a lazyfree folio may be dropped
 * @op: its @run is cleared, and what was dirty in it was passed on to the folio
 *
 * Page-table lock held on entry and return.  Changes nothing.
 *
 * Law 5.  The order makes it safe:
 *
 *	here				GUP-fast
 *	clear the entries		take a reference
 *	smp_mb()			(atomic)
 *	read the reference count	read the entry again
 *
 * Either this function sees the reference, or GUP-fast sees the entry gone and
 * gives up.  A reference holder that wrote to the folio sets dirty before it drops
 * its reference: because dirty is read after the count, with smp_rmb() in between,
 * either the reference or dirty is seen.
 *
 * Expected references: the caller's, and one for each mapping.  The cleared entries
 * are asserted; the order of the reads cannot be.
 *
 * Return: UNMAP_GOES, or why the run must be put back.
 */
enum unmap_reason unmap_lazyfree_judge(const struct unmap_op *op)
{
	struct folio *folio = op->folio;
	int refs, mappings;

	unmap_run_assert_gone(op);
	smp_mb(); /* pairs with GUP-fast, see above */
	refs = folio_ref_count(folio);
	mappings = folio_mapcount(folio);
	smp_rmb(); /* pairs with dirty set before the reference is dropped */

	if (folio_test_dirty(folio) && lazyfree_dirty_counts(op))
		return UNMAP_STAYS_REDIRTIED;
	if (refs != 1 + mappings)
		return UNMAP_STAYS_REFERENCED;
	return UNMAP_GOES;
}

/*
 * A redirtied folio must become swap-backed.  VM_DROPPABLE folios never do: because of
 * lazyfree_dirty_counts() they are never judged UNMAP_STAYS_REDIRTIED.
 */
static bool lazyfree_keeps_content(enum unmap_reason reason)
{
	return reason == UNMAP_STAYS_REDIRTIED;
}

/**
 * unmap_lazyfree_leave - decide whether a run of a lazyfree folio may be dropped
 * @op: its @run is cleared
 *
 * Page-table lock held on entry and return.
 *
 * Return: UNMAP_GOES, or why the run must be put back.
 */
enum unmap_reason unmap_lazyfree_leave(struct unmap_op *op)
{
	enum unmap_reason reason;

	VM_WARN_ON_ONCE_FOLIO(folio_test_swapcache(op->folio), op->folio);

	reason = unmap_lazyfree_judge(op);
	if (unlikely(lazyfree_keeps_content(reason)))
		folio_set_swapbacked(op->folio);
	return reason;
}
