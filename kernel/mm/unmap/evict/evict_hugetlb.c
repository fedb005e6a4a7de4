// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evicting hugetlb folios.  Only memory_failure() does that: the folio is
 * poisoned, and one huge entry maps all of it.  The leftover is a poison entry, so
 * a task that touches it gets SIGBUS.
 */
#include <linux/hugetlb.h>
#include <linux/mmu_notifier.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <asm/tlb.h>

#include <trace/events/unmap.h>

#include "evict.h"
#include "../internal.h"
#include "../stat.h"

enum unshare {
	UNSHARE_NONE,	/* the table is not shared: clear the entry */
	UNSHARE_DONE,	/* the whole table is gone from this mm */
	UNSHARE_BUSY,	/* the hugetlb VMA lock was not available */
};

/*
 * Processes that map the same file may share a PMD table.  Removing the shared
 * table from one mm unmaps the folio from it as well.
 *
 * The caller of try_to_unmap() holds i_mmap_rwsem for write.  The hugetlb VMA lock
 * comes before that in the lock order, so use trylock.
 */
static enum unshare hugetlb_unshare_table(struct unmap_op *op, unsigned long address,
					  pte_t *ptep)
{
	struct vm_area_struct *vma = op->vma;
	struct mmu_gather tlb;
	bool gone;

	VM_WARN_ON_ONCE_FOLIO(!(op->flags & TTU_RMAP_LOCKED), op->folio);
	if (!hugetlb_vma_trylock_write(vma))
		return UNSHARE_BUSY;
	tlb_gather_mmu_vma(&tlb, vma);
	gone = huge_pmd_unshare(&tlb, vma, address, ptep);
	hugetlb_vma_unlock_write(vma);
	if (gone)
		huge_pmd_unshare_flush(&tlb, vma);
	tlb_finish_mmu(&tlb);
	return gone ? UNSHARE_DONE : UNSHARE_NONE;
}

/* The page-table lock of the huge entry is held. */
static void hugetlb_evict_entry(struct unmap_op *op, unsigned long address, pte_t *ptep)
{
	struct vm_area_struct *vma = op->vma;
	struct folio *folio = op->folio;
	pte_t pte = huge_ptep_clear_flush(vma, address, ptep);

	op->run.addr = address;
	op->run.page = &folio->page;
	op->run.nr = 1;

	if (pte_dirty(pte))
		folio_mark_dirty(folio);
	update_hiwater_rss(vma->vm_mm);
	if (op->flags & TTU_HWPOISON)
		set_huge_pte_at(vma->vm_mm, address, ptep,
				swp_entry_to_pte(make_hwpoison_entry(&folio->page)),
				huge_page_size(hstate_vma(vma)));
	hugetlb_count_sub(folio_nr_pages(folio), vma->vm_mm);
	hugetlb_remove_rmap(folio);
	folio_put(folio);
	unmap_count_run(1);
	trace_run(op, UNMAP_KIND_HUGETLB);
}

/* False: the folio stays mapped.  The page-table lock of the huge entry is held. */
static bool hugetlb_evict_one(struct unmap_op *op, struct page_vma_mapped_walk *pvmw)
{
	enum unshare unshare = UNSHARE_NONE;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_hwpoison(op->folio), op->folio);
	/* Without a poison entry a later fault would silently read zeroes. */
	if (WARN_ON_ONCE(folio_test_anon(op->folio) &&
			 !(op->flags & TTU_HWPOISON)))
		return false;
	if (!folio_test_anon(op->folio))
		unshare = hugetlb_unshare_table(op, pvmw->address, pvmw->pte);
	if (unshare == UNSHARE_NONE)
		hugetlb_evict_entry(op, pvmw->address, pvmw->pte);
	return unshare != UNSHARE_BUSY;
}

/**
 * unmap_hugetlb_from_vma - evict a hugetlb folio from one VMA
 * @folio: locked and referenced by the caller of try_to_unmap()
 * @vma: its rmap lock is held, for write if @folio belongs to a file, else for read
 * @address: where @vma maps it
 * @arg: enum ttu_flags
 *
 * Return: false if the folio stays mapped here, which stops the rmap walk.
 */
bool unmap_hugetlb_from_vma(struct folio *folio, struct vm_area_struct *vma,
			    unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct mmu_notifier_range range;
	struct unmap_op op = {
		.folio = folio,
		.vma = vma,
		.flags = (enum ttu_flags)(long)arg,
	};
	bool gone = true;

	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, vma->vm_mm,
				address, vma_address_end(&pvmw));
	/* Unsharing a table unmaps more than the folio. */
	adjust_range_if_pmd_sharing_possible(vma, &range.start, &range.end);
	mmu_notifier_invalidate_range_start(&range);
	if (page_vma_mapped_walk(&pvmw)) {
		flush_cache_range(vma, range.start, range.end);
		gone = hugetlb_evict_one(&op, &pvmw);
		page_vma_mapped_walk_done(&pvmw);
	}
	mmu_notifier_invalidate_range_end(&range);
	return gone;
}
