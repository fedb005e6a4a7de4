// SPDX-License-Identifier: GPL-2.0-only
/*
 * try_to_migrate(): put migration entries in place of all entries that map a large folio, a run at
 * a time.  Who meets one waits until the folio is unlocked (migration_entry_wait()).
 *
 * No folio counts as partially mapped because it moves: half of it is unmapped for a moment only.
 * relocate_back.c looks whether all of it came back.
 *
 * Law 16.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/userfaultfd_k.h>

#include "../compat_rmap.h"
#include "../flush.h"
#include "../internal.h"
#include "../leave.h"
#include "../rmap.h"
#include "../run.h"
#include "../window.h"
#include "../evict/evict.h"
#include "relocate.h"

/* How the walk goes on after one step. */
enum relocate_step {
	RELOCATE_NEXT,		/* go on to the folio's next entry */
	RELOCATE_DONE,		/* the folio's last entry in this VMA is gone */
	RELOCATE_FAILED,	/* something must stay: stop */
};

/*
 * A huge PMD: leave a migration entry there, too; or split it, which leaves migration entries in
 * its table, or, if the folio may be pinned, entries that the walk finds when it begins again.
 */
static enum relocate_step relocate_pmd(struct unmap_op *op, struct page_vma_mapped_walk *pvmw)
{
	struct page *page;

	if (op->flags & TTU_SPLIT_HUGE_PMD) {
		compat_split_huge_pmd_locked(op->vma, pvmw->address, pvmw->pmd, op->folio, true);
		op->flags &= ~TTU_SPLIT_HUGE_PMD;
		page_vma_mapped_walk_restart(pvmw);
		return RELOCATE_NEXT;
	}
	if (!COMPAT_MIGRATES_PMDS)
		return RELOCATE_FAILED;
	page = folio_page(op->folio, pmd_pfn(*pvmw->pmd) - folio_pfn(op->folio));
	return set_pmd_migration_entry(pvmw, page) ? RELOCATE_FAILED : RELOCATE_NEXT;
}

/* The migration entry of the run's first page. */
static pte_t relocate_entry(const struct relocate *r)
{
	const struct pte_run *run = &r->op.run;
	unsigned long pfn = page_to_pfn(run->page);
	bool present = pte_present(run->pte);
	swp_entry_t entry;

	if (present && pte_write(run->pte))
		entry = make_writable_migration_entry(pfn);
	else if (r->exclusive)
		entry = make_readable_exclusive_migration_entry(pfn);
	else
		entry = make_readable_migration_entry(pfn);
	if (present && pte_young(run->pte))
		entry = make_migration_entry_young(entry);
	if (present && pte_dirty(run->pte))
		entry = make_migration_entry_dirty(entry);
	return unmap_leave_marks(swp_entry_to_pte(entry), run->pte);
}

/* The trace point of stock is for each entry. */
static void relocate_trace(const struct unmap_op *op, pte_t pte)
{
	unsigned int i;

	if (!trace_set_migration_pte_enabled())
		return;
	for (i = 0; i < op->run.nr; i++) {
		trace_set_migration_pte(op->run.addr + i * PAGE_SIZE, pte_val(pte),
					folio_order(op->folio));
		pte = unmap_leave_after(pte);
	}
}

/* Law 6: what is exclusive is recorded, and not left in the pages. */
static void relocate_assert_left(const struct relocate *r)
{
	const struct pte_run *run = &r->op.run;
	struct page *last = run->page + run->nr - 1;
	struct folio *folio = r->op.folio;

	VM_WARN_ON_ONCE_FOLIO(folio_test_anon(folio) && (compat_anon_exclusive(run->page) ||
							 compat_anon_exclusive(last)), folio);
	VM_WARN_ON_ONCE_FOLIO(unmap_run_pfn(ptep_get(run->ptep)) != page_to_pfn(run->page), folio);
	VM_WARN_ON_ONCE_FOLIO(unmap_run_pfn(ptep_get(run->ptep + run->nr - 1)) !=
			      page_to_pfn(last), folio);
}

/**
 * unmap_relocate_leave - put migration entries in place of a cleared run
 * @r: its run, and whether its pages are exclusive
 *
 * Page-table lock held on entry and return.
 *
 * Return: UNMAP_GOES, or why the run must be put back.
 */
enum unmap_reason unmap_relocate_leave(struct relocate *r)
{
	struct unmap_op *op = &r->op;
	struct vm_area_struct *vma = op->vma;
	pte_t pte;

	/* An architecture that keeps data beside an entry saves it; its runs have one entry. */
	if (arch_unmap_one(vma->vm_mm, vma, op->run.addr, op->run.pte) < 0)
		return UNMAP_STAYS_ARCH;
	VM_WARN_ON_ONCE_FOLIO(pte_present(op->run.pte) && pte_write(op->run.pte) &&
			      folio_test_anon(op->folio) && !r->exclusive, op->folio);
	if (r->exclusive && !unmap_give_up_exclusive(op))
		return UNMAP_STAYS_PINNED;
	pte = relocate_entry(r);
	unmap_leave_entries(op, pte);
	relocate_trace(op, pte);
	relocate_assert_left(r);
	return UNMAP_GOES;
}

/* The page is gone from rss, too: it is poisoned, or its content is not needed. */
static void relocate_forget(struct relocate *r, unsigned int kind)
{
	struct unmap_op *op = &r->op;

	update_hiwater_rss(op->vma->vm_mm);
	dec_mm_counter(op->vma->vm_mm, mm_counter(op->folio));
	r->kind = kind;
}

/* A poisoned page is a run of its own. */
static bool relocate_is_poisoned(const struct unmap_op *op)
{
	return op->run.nr == 1 && PageHWPoison(op->run.page);
}

/* What a cleared run leaves behind.  If there is a reason, it must be put back. */
static enum unmap_reason relocate_cleared(struct relocate *r)
{
	struct unmap_op *op = &r->op;

	r->kind = UNMAP_KIND_RELOCATE;
	if (pte_present(op->run.pte) && pte_dirty(op->run.pte))
		unmap_mark_dirty(op->folio);
	if (unlikely(relocate_is_poisoned(op))) {
		relocate_forget(r, UNMAP_KIND_POISON);
		set_pte_at(op->vma->vm_mm, op->run.addr, op->run.ptep,
			   swp_entry_to_pte(make_hwpoison_entry(op->run.page)));
		return UNMAP_GOES;
	}
	if (unmap_run_is_unused(op)) {
		relocate_forget(r, UNMAP_KIND_UNUSED);
		return UNMAP_GOES;
	}
	return unmap_relocate_leave(r);
}

/*
 * Take the run out of rmap, and drop its references; the caller of try_to_migrate() has one of
 * its own.  Laws 1 and 4.
 */
static void relocate_retire(struct relocate *r)
{
	struct unmap_op *op = &r->op;
	struct pte_run *run = &op->run;
	struct folio *folio = op->folio;
	struct rmap_debt debt = {};
	int gone;

	unmap_run_assert_gone(op);
	__folio_rmap_sanity_checks(folio, run->page, run->nr, PGTABLE_LEVEL_PTE);
	gone = rmap_remove_moving(folio, run->page, run->nr, op->vma);
	if (gone) {
		rmap_owe(&debt, folio, folio_test_anon(folio) ? NR_ANON_MAPPED : NR_FILE_MAPPED,
			 gone);
		rmap_pay_debt(&debt);
	}
	if (unlikely(op->vma->vm_flags & VM_LOCKED) && !r->munlocked) {
		munlock_folio(folio);
		mlock_drain_local();
		r->munlocked = true;
	}
	folio_put_refs(folio, run->nr);
	trace_run(op, r->kind);
	unmap_count(UNMAP_STAT_RELOCATE_RUNS, 1);
	unmap_count(UNMAP_STAT_RELOCATE_ENTRIES, run->nr);
}

/*
 * Whether the run must stay because somebody may have pinned its pages: known before it is
 * cleared.  Law 6 looks again after that.
 */
static bool relocate_is_pinned(const struct relocate *r)
{
	return r->exclusive && folio_maybe_dma_pinned(r->op.folio);
}

static enum relocate_step relocate_run(struct relocate *r, struct page_vma_mapped_walk *pvmw)
{
	struct unmap_op *op = &r->op;
	enum unmap_reason reason;

	unmap_relocate_find(r);
	if (relocate_is_pinned(r)) {
		unmap_count(UNMAP_STAT_RELOCATE_PINNED, 1);
		return RELOCATE_FAILED;
	}
	unmap_run_clear_locked(op);
	unmap_window();
	reason = relocate_cleared(r);
	if (unlikely(reason != UNMAP_GOES)) {
		unmap_run_put_back(op, reason);
		return RELOCATE_FAILED;
	}
	relocate_retire(r);
	if (op->run.nr == pvmw->nr_pages)
		return RELOCATE_DONE;
	unmap_run_walk_past(pvmw, op->run.nr);
	return RELOCATE_NEXT;
}

/* One step of the walk.  The page-table lock (pvmw->ptl) is held. */
static enum relocate_step relocate_step(struct relocate *r, struct page_vma_mapped_walk *pvmw)
{
	struct unmap_op *op = &r->op;

	lockdep_assert_held(pvmw->ptl);
	if (unlikely(!pvmw->pte))
		return relocate_pmd(op, pvmw);
	unmap_run_start(op, pvmw);
	/* What a device has for itself, outside rmap: its reference keeps the folio from moving. */
	if (unlikely(!pte_present(op->run.pte)) &&
	    !compat_device_in_rmap(softleaf_from_pte(op->run.pte)))
		return RELOCATE_NEXT;
	return relocate_run(r, pvmw);
}

static bool relocate_walk(struct relocate *r, struct page_vma_mapped_walk *pvmw)
{
	enum relocate_step step;

	while (page_vma_mapped_walk(pvmw)) {
		step = relocate_step(r, pvmw);
		if (step == RELOCATE_NEXT)
			continue;
		page_vma_mapped_walk_done(pvmw);
		return step == RELOCATE_DONE;
	}
	return true;
}

/*
 * Called by the rmap walk, which holds the rmap lock of @vma for reading.  Only the MMU notifiers
 * may sleep.  False stops the walk.
 */
static bool relocate_from_vma(struct folio *folio, struct vm_area_struct *vma,
			      unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct relocate r = { .munlocked = false };
	struct mmu_notifier_range range;
	bool gone;

	unmap_op_begin(&r.op, folio, vma, (enum ttu_flags)(long)arg);
	/* Wait for others who have cleared an entry, but not yet removed its rmap. */
	if (r.op.flags & TTU_SYNC)
		pvmw.flags = PVMW_SYNC;

	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, vma->vm_mm,
				address, vma_address_end(&pvmw));
	mmu_notifier_invalidate_range_start(&range);
	gone = relocate_walk(&r, &pvmw);
	mmu_notifier_invalidate_range_end(&range);
	return gone;
}

/* exec() moves a stack without its rmap lock: a walk might then not find the migration entries. */
static bool relocate_skips(struct vm_area_struct *vma, void *arg)
{
	return vma_is_temporary_stack(vma);
}

static void relocate(struct folio *folio, enum ttu_flags flags)
{
	struct rmap_walk_control rwc = {
		.rmap_one = relocate_from_vma,
		.arg = (void *)(long)flags,
		.done = unmap_folio_is_unmapped,
		.anon_lock = folio_lock_anon_vma_read,
	};

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	if (folio_test_anon(folio))
		rwc.invalid_vma = relocate_skips;
	if (flags & TTU_RMAP_LOCKED)
		rmap_walk_locked(folio, &rwc);
	else
		rmap_walk(folio, &rwc);
}

/**
 * try_to_migrate - put migration entries in place of all entries that map a folio
 * @folio: the folio, locked and referenced by the caller
 * @flags: TTU_RMAP_LOCKED, TTU_SPLIT_HUGE_PMD, TTU_SYNC, TTU_BATCH_FLUSH
 *
 * May fail in part or in whole: the caller checks folio_mapped() afterwards, and calls
 * remove_migration_ptes() in any case, before it unlocks the folio.  With TTU_BATCH_FLUSH it
 * must call try_to_unmap_flush() before it reads the content, in order to copy it.
 */
void try_to_migrate(struct folio *folio, enum ttu_flags flags)
{
	enum ttu_flags known = TTU_RMAP_LOCKED | TTU_SPLIT_HUGE_PMD | TTU_SYNC | TTU_BATCH_FLUSH;

	if (!unmap_relocates(folio))
		stock_try_to_migrate(folio, flags);
	else if (!WARN_ON_ONCE(flags & ~known))
		relocate(folio, flags);
}
