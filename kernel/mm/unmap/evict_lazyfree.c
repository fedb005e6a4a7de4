// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evicting lazyfree folios: anonymous memory marked by MADV_FREE (or
 * MAP_DROPPABLE).  Its content may be dropped unless it was written again.
 */
#include <linux/pgtable.h>

#include "internal.h"
#include "run.h"

enum lazyfree_verdict {
	LAZYFREE_DROP,		/* clean, no unexpected reference */
	LAZYFREE_BUSY,		/* an unexpected reference: try later */
	LAZYFREE_REDIRTIED,	/* written after MADV_FREE: must be kept */
};

/* A VM_DROPPABLE mapping may lose its pages even if they were written. */
static bool lazyfree_dirty_counts(const struct unmap_op *op)
{
	return !(op->vma->vm_flags & VM_DROPPABLE);
}

/*
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
 */
static enum lazyfree_verdict lazyfree_judge(const struct unmap_op *op)
{
	struct folio *folio = op->folio;
	int refs, mappings;

	unmap_run_assert_gone(op);
	smp_mb(); /* pairs with GUP-fast, see above */
	refs = folio_ref_count(folio);
	mappings = folio_mapcount(folio);
	smp_rmb(); /* pairs with dirty set before the reference is dropped */

	if (folio_test_dirty(folio) && lazyfree_dirty_counts(op))
		return LAZYFREE_REDIRTIED;
	if (refs != 1 + mappings)
		return LAZYFREE_BUSY;
	return LAZYFREE_DROP;
}

/*
 * A redirtied folio must become swap-backed.  VM_DROPPABLE folios never do: because of
 * lazyfree_dirty_counts() they are never judged LAZYFREE_REDIRTIED.
 */
static bool lazyfree_keeps_content(enum lazyfree_verdict verdict)
{
	return verdict == LAZYFREE_REDIRTIED;
}

/**
 * unmap_evict_lazyfree - drop a run of a lazyfree folio, or put it back
 * @op: its @run is cleared
 *
 * Page-table lock held on entry and return.
 *
 * Return: true if the run is gone; false if it was put back.
 */
bool unmap_evict_lazyfree(struct unmap_op *op)
{
	enum lazyfree_verdict verdict;

	VM_WARN_ON_ONCE_FOLIO(folio_test_swapcache(op->folio), op->folio);

	verdict = lazyfree_judge(op);
	if (verdict == LAZYFREE_DROP) {
		unmap_run_retire(op, MM_ANONPAGES, UNMAP_KIND_LAZYFREE);
		return true;
	}
	unmap_run_put_back(op, verdict == LAZYFREE_REDIRTIED ? UNMAP_STAYS_REDIRTIED :
							       UNMAP_STAYS_REFERENCED);
	if (lazyfree_keeps_content(verdict))
		folio_set_swapbacked(op->folio);
	return false;
}
