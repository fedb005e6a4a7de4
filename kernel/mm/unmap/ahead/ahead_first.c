// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmapping ahead: the first folio of a stretch, which reclaim unmaps now, leads those behind it.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rmap.h>

#include "../evict/evict.h"
#include "../internal.h"
#include "ahead.h"

/*
 * Evict the first folio from one VMA, and its successors under the same page-table lock.  An mm
 * with MMU notifiers gets none of that: a page that is cold here may be hot in a guest.  None can
 * be registered while the rmap lock is held.
 */
static bool ahead_from_vma(struct folio *folio, struct vm_area_struct *vma,
			   unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct unmap_op op __uninitialized;
	struct unmap_ahead *ahead = arg;
	bool gone;

	if (mm_has_notifiers(vma->vm_mm))
		return unmap_evict_from_vma(folio, vma, address, (void *)(long)ahead->flags);

	unmap_op_begin(&op, folio, vma, ahead->flags);

	if (!page_vma_mapped_walk(&pvmw))
		return true;
	gone = unmap_evict_first(&op, &pvmw);
	if (gone && unmap_ahead(&op, ahead))
		unmap_evict_notice_table(&op);
	page_vma_mapped_walk_done(&pvmw);
	return gone;
}

static noinline void ahead_evict(struct folio *folio, enum ttu_flags flags,
				 struct list_head *rest, bool references, bool io)
{
	struct unmap_ahead ahead __uninitialized;
	struct rmap_walk_control rwc = {
		.rmap_one = ahead_from_vma,
		.arg = &ahead,
		.done = unmap_folio_is_unmapped,
		.anon_lock = folio_lock_anon_vma_read,
	};

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	ahead.flags = flags;
	ahead.rest = rest;
	ahead.next = rest->prev;
	ahead.references = references;
	ahead.io = io;
	ahead.wanted = 0;
	ahead.nr = 0;
	rmap_walk(folio, &rwc);
	unmap_ahead_end(&ahead);
}

/**
 * unmap_reclaim_folio - try_to_unmap() for reclaim, which may unmap ahead
 * @folio: the folio, locked and referenced by the caller
 * @flags: as for try_to_unmap(), TTU_BATCH_FLUSH among them
 * @rest: the caller's list of the folios that it comes to next, the last one first; it holds a
 *	reference to each of them, and no lock
 * @ignore_references: whether to unmap folios that were referenced
 * @gfp: what reclaim may do
 *
 * Some folios of @rest may be unmapped afterwards, or in the swap cache.  Otherwise like
 * try_to_unmap().
 */
void unmap_reclaim_folio(struct folio *folio, enum ttu_flags flags, struct list_head *rest,
			 bool ignore_references, gfp_t gfp)
{
	if (!unmap_enabled(UNMAP_BIT_EVICT))
		stock_try_to_unmap(folio, flags);
	else if (unmap_ahead_hinted(folio, rest) && unmap_ahead_may_lead(folio))
		ahead_evict(folio, flags, rest, !ignore_references, gfp & __GFP_IO);
	else
		unmap_evict(folio, flags);
}
