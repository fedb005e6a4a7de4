// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration of single pages: most of what it takes to unmap one is to find it, by a walk of rmap
 * and of the page table.  Often the next folios on the list of migrate_pages_batch() are mapped by
 * other entries of the same table: move_pages() and mbind() go by address, compaction backwards
 * through page frames, which often were filled by address, and of which some are free again.  Those
 * are unmapped as well, under the same page-table lock.
 *
 * They stay on the list, ahead: locked and unmapped, each with a reference to its anon_vma, and
 * with the reference of the entry that mapped it.  When the loop comes to one, it takes the folio
 * over as it is.  If the loop ends before, they are mapped again.
 *
 * Nobody is waited for.  What is not plain is left to stock: entries of several processes, locked
 * memory, MMU notifiers, userfaultfd, and more.  Law 16.
 */
#include <linux/ksm.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/userfaultfd_k.h>

#include "../compat_rmap.h"
#include "../flush.h"
#include "../internal.h"
#include "../knobs.h"
#include "../rmap.h"
#include "../run.h"
#include "../window.h"
#include "relocate.h"
#include "relocate_batch.h"

/* VMAs where a page needs more than to be unmapped, or where dirty has another meaning. */
#define BATCH_VM_REFUSED	(VM_LOCKED | VM_SHADOW_STACK | VM_SPECIAL)

DEFINE_PER_CPU(struct unmap_pause, unmap_batch_pause);

/**
 * struct batch - pages in one table that are unmapped together
 * @m: the migration
 * @flags: as for try_to_migrate()
 * @r: aimed at one of the pages, or, to flush, at all of them
 * @first: the entry of the first folio, as it was
 * @start: of what the table maps of the VMA (law 2)
 * @end: of that
 * @low: where the lowest and the highest entry is, counted from the first one
 * @nr: how many pages
 * @folio: the first folio, and those that follow it on the list; locked
 * @at: where their entries are, counted from the first one
 * @pte: their entries, as they were cleared
 */
struct batch {
	struct unmap_migration *m;
	enum ttu_flags flags;
	struct relocate r;
	struct pte_run first;
	unsigned long start, end;
	int low, high;
	unsigned int nr;
	struct folio *folio[RELOCATE_BATCH_MAX];
	short at[RELOCATE_BATCH_MAX];
	pte_t pte[RELOCATE_BATCH_MAX];
};

/*
 * exec() moves a stack without its rmap lock: a walk might then not find the migration entries.  No
 * MMU notifier can be registered while the rmap lock is held.
 */
static bool batch_takes_vma(struct vm_area_struct *vma)
{
	return !UNMAP_ARCH_UNMAPS_ONE && !(vma->vm_flags & BATCH_VM_REFUSED) &&
	       !mm_has_notifiers(vma->vm_mm) && !vma_is_temporary_stack(vma);
}

/*
 * Whether the entry of a locked folio goes.  That it maps the folio is seen by the PFN; it is the
 * only one, and none is added: fork() would need the page-table lock, faults and KSM the folio's.
 */
static __always_inline bool batch_may_go(const struct batch *batch, struct folio *folio, pte_t pte)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	VM_WARN_ON_ONCE_FOLIO(pte_pfn(pte) != folio_pfn(folio), folio);
	/* The flush of such an entry is not recorded: that of all would not be. */
	if (pte_protnone(pte) || pte_uffd(pte))
		return false;
	if (folio->mapping != batch->folio[0]->mapping || folio_mapcount(folio) != 1)
		return false;
	return !folio_test_writeback(folio) && !folio_test_hwpoison(folio) &&
	       !folio_maybe_dma_pinned(folio);
}

/* The next folio, if its entry is @pte: locked, if it goes. */
static bool batch_take(const struct batch *batch, struct folio *folio, pte_t pte)
{
	if (!pte_present(pte) || pte_pfn(pte) != folio_pfn(folio) || folio_test_large(folio) ||
	    !folio_trylock(folio))
		return false;
	if (batch_may_go(batch, folio, pte))
		return true;
	folio_unlock(folio);
	return false;
}

/*
 * Where the entry of a folio should be, counted from the first one; 0 if not in the same table and
 * VMA.  The folio may be another one's, as it is not locked: its PFN tells.
 */
static int batch_find(const struct batch *batch, const struct folio *folio)
{
	pgoff_t ahead = READ_ONCE(folio->index) - batch->folio[0]->index;
	unsigned long addr = batch->first.addr + ahead * PAGE_SIZE;

	if (addr < batch->start || addr >= batch->end)
		return 0;
	return (int)(addr >> PAGE_SHIFT) - (int)(batch->first.addr >> PAGE_SHIFT);
}

/* Look for the entries of the folios that come next. */
static void batch_collect(struct batch *batch)
{
	unsigned int limit = min_t(unsigned int, READ_ONCE(unmap_max_run), RELOCATE_BATCH_MAX);
	struct folio *folio = batch->folio[0];
	int at, low = 0, high = 0;

	if (!batch_may_go(batch, folio, batch->first.pte))
		return;
	batch->at[0] = 0;
	for (batch->nr = 1; batch->nr < limit; batch->nr++) {
		if (list_is_last(&folio->lru, batch->m->from))
			break;
		folio = list_next_entry(folio, lru);
		at = batch_find(batch, folio);
		if (!at || !batch_take(batch, folio, ptep_get(batch->first.ptep + at)))
			break;
		batch->folio[batch->nr] = folio;
		batch->at[batch->nr] = at;
		low = min(low, at);
		high = max(high, at);
	}
	batch->low = low;
	batch->high = high;
}

/* Aim at one of the pages. */
static void batch_aim(struct batch *batch, unsigned int i)
{
	struct unmap_op *op = &batch->r.op;

	op->folio = batch->folio[i];
	op->run.ptep = batch->first.ptep + batch->at[i];
	op->run.addr = batch->first.addr + batch->at[i] * PAGE_SIZE;
	op->run.nr = 1;
	op->run.pte = batch->pte[i];
	op->run.page = folio_page(op->folio, 0);
	op->run.deferred = batch->first.deferred;
	batch->r.exclusive = compat_anon_exclusive(op->run.page);
	run_assert_bounds(op);
}

/* Aim at all entries from the lowest to the highest, of others, too. */
static void batch_aim_all(struct batch *batch)
{
	struct pte_run *all = &batch->r.op.run;

	*all = batch->first;
	all->ptep += batch->low;
	all->addr += batch->low * PAGE_SIZE;
	all->nr = batch->high - batch->low + 1;
	VM_WARN_ON_ONCE((all->addr ^ (unmap_run_end(all) - 1)) & PMD_MASK);
	VM_WARN_ON_ONCE(all->addr < batch->start || unmap_run_end(all) > batch->end);
}

/*
 * One flush, also of others' entries between them where that costs nothing; elsewhere each page has
 * its own then.
 */
static void batch_flush(struct batch *batch)
{
	struct pte_run *run = &batch->r.op.run;
	unsigned int i;

	if (UNMAP_ARCH_ONE_FLUSH || run->nr == batch->nr) {
		run_flush_together(&batch->r.op);
		batch->first.deferred = run->deferred;
		return;
	}
	for (i = 0; i < batch->nr; i++) {
		batch_aim(batch, i);
		run_flush_together(&batch->r.op);
		batch->first.deferred |= run->deferred;
	}
}

/* Law 1: one alone as stock does it. */
static void batch_clear_one(struct batch *batch)
{
	__unmap_run_clear_one(&batch->r.op, true);
	batch->pte[0] = batch->r.op.run.pte;
	batch->first.deferred = batch->r.op.run.deferred;
}

/* Law 1. */
static void batch_clear(struct batch *batch)
{
	struct pte_run *all = &batch->r.op.run;
	struct vm_area_struct *vma = batch->r.op.vma;
	unsigned int i;

	batch_aim_all(batch);
	flush_cache_range(vma, all->addr, unmap_run_end(all));
	for (i = 0; i < batch->nr; i++) {
		batch->pte[i] = ptep_get_and_clear(vma->vm_mm,
						   batch->first.addr + batch->at[i] * PAGE_SIZE,
						   batch->first.ptep + batch->at[i]);
		all->pte = i ? unmap_arch_gather(all->pte, batch->pte[i]) : batch->pte[i];
	}
	batch_flush(batch);
}

/*
 * Take a single page out of rmap: like folio_remove_rmap_pte().  The first one's reference is
 * dropped; those that are ahead keep theirs, and an anon_vma, until the loop comes to them: it
 * takes a folio with one reference for free, and cannot get the anon_vma of one that is not mapped.
 */
static void batch_drop(struct batch *batch, unsigned int i, struct rmap_debt *debt)
{
	struct folio *folio = batch->folio[i];

	unmap_run_assert_gone(&batch->r.op);
	__folio_rmap_sanity_checks(folio, batch->r.op.run.page, 1, PGTABLE_LEVEL_PTE);
	VM_WARN_ON_ONCE_FOLIO(!folio_test_anon(folio) || folio_test_ksm(folio), folio);
	if (i)
		get_anon_vma(folio_anon_vma(folio));
	if (likely(rmap_unmap_page(batch->r.op.run.page)))
		rmap_owe(debt, folio, NR_ANON_MAPPED, 1);
	if (!i)
		folio_put(folio);
}

/* Leave a migration entry in place of the one that was cleared, unless there is a reason. */
static bool batch_leave(struct batch *batch)
{
	struct unmap_op *op = &batch->r.op;
	enum unmap_reason reason;

	if (pte_dirty(op->run.pte))
		unmap_mark_dirty(op->folio);
	reason = unmap_relocate_leave(&batch->r);
	if (likely(reason == UNMAP_GOES))
		return true;
	unmap_count(UNMAP_STAT_RELOCATE_PINNED, 1);
	unmap_run_put_back(op, reason);
	return false;
}

/* From one that stays on all stay: what is ahead is one behind the other.  Returns how many go. */
static unsigned int batch_retire(struct batch *batch)
{
	struct rmap_debt debt = { .nr = 0 };
	unsigned int i, gone;

	for (gone = 0; gone < batch->nr; gone++) {
		batch_aim(batch, gone);
		if (!batch_leave(batch))
			break;
		batch_drop(batch, gone, &debt);
	}
	for (i = gone + 1; i < batch->nr; i++) {
		batch_aim(batch, i);
		unmap_run_put_back(&batch->r.op, UNMAP_STAYS_PINNED);
	}
	rmap_pay_debt(&debt);
	return gone;
}

/* The page-table lock is held, and the rmap lock of the first folio. */
static void batch_unmap(struct batch *batch)
{
	struct vm_area_struct *vma = batch->r.op.vma;
	unsigned int i, gone;

	batch->first = batch->r.op.run;
	batch->start = max(batch->first.addr & PMD_MASK, vma->vm_start);
	batch->end = unmap_run_table_end(batch->first.addr, vma);
	batch_collect(batch);
	if (!batch->nr)
		return;
	if (batch->nr == 1)
		batch_clear_one(batch);
	else
		batch_clear(batch);
	unmap_window();
	gone = batch_retire(batch);
	for (i = max(gone, 1U); i < batch->nr; i++)
		folio_unlock(batch->folio[i]);
	batch->nr = gone;
	unmap_count(UNMAP_STAT_BATCHES, !!gone);
	unmap_count(UNMAP_STAT_BATCH_PAGES, gone);
}

/* Called by the rmap walk, which ends with the VMA that maps the folio. */
static bool batch_from_vma(struct folio *folio, struct vm_area_struct *vma,
			   unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct batch *batch = arg;

	if (!batch_takes_vma(vma))
		return false;
	if (!page_vma_mapped_walk(&pvmw))
		return true;
	unmap_op_begin(&batch->r.op, folio, vma, batch->flags);
	/* Again, with the page-table lock: mlock() says so before it takes that to mark pages. */
	if (pvmw.pte && batch_takes_vma(vma)) {
		unmap_run_start(&batch->r.op, &pvmw);
		if (pte_present(batch->r.op.run.pte))
			batch_unmap(batch);
	}
	page_vma_mapped_walk_done(&pvmw);
	return false;
}

/* Whether the folio is a plain page of anonymous memory that one entry maps. */
static bool batch_may_lead(struct folio *folio)
{
	return folio_test_anon(folio) && !folio_test_large(folio) && !folio_test_ksm(folio) &&
	       !folio_is_zone_device(folio) && folio_mapcount(folio) == 1 &&
	       READ_ONCE(unmap_max_run) > 1 && !unmap_pauses(&unmap_batch_pause);
}

/**
 * __unmap_migration_unmap - try_to_migrate(), also of the folios that come next
 * @m: nothing is ahead
 * @folio: locked, and on @m's list; the caller holds a reference to it and to its anon_vma
 * @flags: as for try_to_migrate(); TTU_BATCH_FLUSH, as the caller must have no lock but of folios
 *
 * Return: false if the folio is left to try_to_migrate(), and nothing was changed.
 */
bool __unmap_migration_unmap(struct unmap_migration *m, struct folio *folio, enum ttu_flags flags)
{
	struct batch batch __uninitialized;
	struct rmap_walk_control rwc = {
		.rmap_one = batch_from_vma,
		.arg = &batch,
		.anon_lock = folio_lock_anon_vma_read,
	};

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio) || m->nr, folio);
	if (!(flags & TTU_BATCH_FLUSH) || !batch_may_lead(folio))
		return false;
	batch.m = m;
	batch.flags = flags;
	batch.nr = 0;
	batch.folio[0] = folio;
	rmap_walk(folio, &rwc);
	unmap_pause_learn(&unmap_batch_pause, batch.nr < 2, BATCH_LONGEST_PAUSE);
	if (!batch.nr)
		return false;
	VM_WARN_ON_ONCE(batch.nr > RELOCATE_BATCH_MAX);
	m->nr = batch.nr - 1;
	if (m->nr)
		m->next = batch.folio[1];
	return true;
}
