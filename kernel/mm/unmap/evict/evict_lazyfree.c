// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evicting lazyfree folios: anonymous memory marked by MADV_FREE (or
 * MAP_DROPPABLE).  Its content may be dropped unless it was written again.
 */
#include "evict.h"
#include "../internal.h"
#include "../run.h"

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

	/* A VM_DROPPABLE mapping may lose its pages even if they were written. */
	if (folio_test_dirty(folio) && !(op->vma->vm_flags & VM_DROPPABLE))
		return UNMAP_STAYS_REDIRTIED;
	if (refs != 1 + mappings)
		return UNMAP_STAYS_REFERENCED;
	return UNMAP_GOES;
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
	/* A redirtied folio must become swap-backed.  VM_DROPPABLE ones are never judged so. */
	if (unlikely(reason == UNMAP_STAYS_REDIRTIED))
		folio_set_swapbacked(op->folio);
	return reason;
}
