// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evicting page-cache folios (files and shmem).  The entries become none: a later
 * fault finds the folio in the page cache.  If userfaultfd write-protected the
 * pages, the leftover is a userfaultfd marker.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "internal.h"
#include "run.h"

/**
 * unmap_evict_file - finish evicting a run of a page-cache folio
 * @op: its @run is cleared
 *
 * The folio lock keeps the folio in the page cache until the MMU notifiers have
 * been called, so no device can use a page that has been replaced in the page
 * cache (Documentation/mm/mmu_notifier.rst).  Page-table lock held on entry and
 * return.
 *
 * Return: true; a page-cache folio has no reason to stay.
 */
bool unmap_evict_file(struct unmap_op *op)
{
	VM_WARN_ON_ONCE_FOLIO(!pte_present(op->run.pte), op->folio);

	if (unlikely(pte_uffd(op->run.pte)))
		unmap_run_leave_markers(op->vma, &op->run);
	unmap_run_retire(op, mm_counter_file(op->folio), UNMAP_KIND_FILE);
	return true;
}
