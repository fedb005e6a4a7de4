// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration of single pages: most of what it takes to unmap one is to find it, by a walk of rmap
 * and of the page table.  Often the next folios on the list of migrate_pages_batch() are mapped by
 * the next entries of the same table, or by those before: move_pages() and mbind() go by address,
 * compaction backwards through page frames, which often were filled by address.  Those are unmapped
 * as well, under the same page-table lock.
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

#define BATCH_LONGEST_PAUSE	31
/* VMAs where a page needs more than to be unmapped, or where dirty has another meaning. */
#define BATCH_VM_REFUSED	(VM_LOCKED | VM_SHADOW_STACK | VM_SPECIAL)

/**
 * struct batch_pause - how often to try
 * @left: how many first folios to leave alone
 * @length: how many that were after the last failure
 *
 * Others may come in between: then it is tried more or less often.
 */
struct batch_pause {
	unsigned char left, length;
};

static DEFINE_PER_CPU(struct batch_pause, batch_pause);

static bool batch_pauses(void)
{
	unsigned char left = raw_cpu_read(batch_pause.left);

	if (likely(!left))
		return false;
	raw_cpu_write(batch_pause.left, left - 1);
	return true;
}

static void batch_learn(bool failed)
{
	unsigned char length = unmap_pause_after(failed, raw_cpu_read(batch_pause.length),
						 BATCH_LONGEST_PAUSE);

	raw_cpu_write(batch_pause.length, length);
	raw_cpu_write(batch_pause.left, length);
}

/**
 * struct batch - neighbours that are unmapped together
 * @m: the migration
 * @flags: as for try_to_migrate()
 * @r: aimed at one of the pages, or, to flush, at all of them
 * @down: the entries of those that follow are before the first one's, not behind it
 * @nr: how many pages
 * @folio: the first folio, and those that follow it on the list; locked
 * @pte: their entries, as they were cleared
 */
struct batch {
	struct unmap_migration *m;
	enum ttu_flags flags;
	struct relocate r;
	bool down;
	unsigned int nr;
	struct folio *folio[RELOCATE_BATCH_MAX];
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
static bool batch_may_go(const struct batch *batch, struct folio *folio, pte_t pte)
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

/* Law 2: how many entries there are from the first one on in its table and VMA, up or down. */
static unsigned int batch_limit(const struct pte_run *run, struct vm_area_struct *vma, bool down)
{
	unsigned long bytes = unmap_run_table_end(run->addr, vma) - run->addr;

	if (down)
		bytes = run->addr - max(run->addr & PMD_MASK, vma->vm_start) + PAGE_SIZE;
	return min3(bytes >> PAGE_SHIFT, (unsigned long)RELOCATE_BATCH_MAX,
		    (unsigned long)READ_ONCE(unmap_max_run));
}

/* Compare the entries from the first one on with the folios from the first one on. */
static void batch_collect(struct batch *batch)
{
	const struct pte_run *run = &batch->r.op.run;
	unsigned int limit = batch_limit(run, batch->r.op.vma, batch->down);
	struct folio *folio = batch->folio[0];
	pte_t *ptep = run->ptep;

	if (!batch_may_go(batch, folio, run->pte))
		return;
	for (batch->nr = 1; batch->nr < limit; batch->nr++) {
		if (list_is_last(&folio->lru, batch->m->from))
			break;
		folio = list_next_entry(folio, lru);
		ptep += batch->down ? -1 : 1;
		if (!batch_take(batch, folio, ptep_get(ptep)))
			break;
		batch->folio[batch->nr] = folio;
	}
}

/* Where the entry of folio @i is among all. */
static unsigned int batch_at(const struct batch *batch, unsigned int i)
{
	return batch->down ? batch->nr - 1 - i : i;
}

/* Law 1.  The run becomes all of them, from the lowest address on. */
static void batch_clear(struct batch *batch)
{
	struct unmap_op *op = &batch->r.op;
	struct mm_struct *mm = op->vma->vm_mm;
	struct pte_run *all = &op->run;
	unsigned int i, at;

	all->nr = batch->nr;
	all->ptep -= batch_at(batch, 0);
	all->addr -= batch_at(batch, 0) * PAGE_SIZE;
	VM_WARN_ON_ONCE((all->addr ^ (unmap_run_end(all) - 1)) & PMD_MASK);
	VM_WARN_ON_ONCE(all->addr < op->vma->vm_start || unmap_run_end(all) > op->vma->vm_end);
	flush_cache_range(op->vma, all->addr, unmap_run_end(all));
	for (i = 0; i < batch->nr; i++) {
		at = batch_at(batch, i);
		batch->pte[i] = ptep_get_and_clear(mm, all->addr + at * PAGE_SIZE, all->ptep + at);
		all->pte = i ? unmap_arch_gather(all->pte, batch->pte[i]) : batch->pte[i];
	}
	run_flush_together(op);
}

/* Aim at one of the pages. */
static void batch_aim(struct batch *batch, unsigned int i, const struct pte_run *all)
{
	struct unmap_op *op = &batch->r.op;
	unsigned int at = batch_at(batch, i);

	op->folio = batch->folio[i];
	op->run.ptep = all->ptep + at;
	op->run.addr = all->addr + at * PAGE_SIZE;
	op->run.nr = 1;
	op->run.pte = batch->pte[i];
	op->run.page = folio_page(op->folio, 0);
	op->run.deferred = all->deferred;
	batch->r.exclusive = compat_anon_exclusive(op->run.page);
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
	const struct pte_run all = batch->r.op.run;
	struct rmap_debt debt = { .nr = 0 };
	unsigned int i, gone;

	for (gone = 0; gone < batch->nr; gone++) {
		batch_aim(batch, gone, &all);
		if (!batch_leave(batch))
			break;
		batch_drop(batch, gone, &debt);
	}
	for (i = gone + 1; i < batch->nr; i++) {
		batch_aim(batch, i, &all);
		unmap_run_put_back(&batch->r.op, UNMAP_STAYS_PINNED);
	}
	rmap_pay_debt(&debt);
	return gone;
}

/* The page-table lock is held, and the rmap lock of the first folio. */
static void batch_unmap(struct batch *batch)
{
	unsigned int i, gone;

	batch_collect(batch);
	if (!batch->nr)
		return;
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
	       READ_ONCE(unmap_max_run) > 1 && !batch_pauses();
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
	batch.down = list_next_entry(folio, lru)->index < folio->index;
	batch.nr = 0;
	batch.folio[0] = folio;
	rmap_walk(folio, &rwc);
	batch_learn(batch.nr < 2);
	if (!batch.nr)
		return false;
	m->nr = batch.nr - 1;
	if (m->nr)
		m->next = batch.folio[1];
	return true;
}

/**
 * __unmap_migration_take - the loop has come to a folio
 * @m: something is ahead
 * @folio: on @m's list, referenced by the caller
 *
 * Return: the folio's anon_vma, with a reference for the caller, if the folio is ahead: it is
 * locked and unmapped, and the caller's.  NULL if it is not.
 */
struct anon_vma *__unmap_migration_take(struct unmap_migration *m, struct folio *folio)
{
	if (WARN_ON_ONCE(folio != m->next)) {
		__unmap_migration_release(m);
		return NULL;
	}
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio) || folio_mapped(folio), folio);
	VM_WARN_ON_ONCE_FOLIO(folio_ref_count(folio) < 2, folio);
	m->nr--;
	m->next = list_next_entry(folio, lru);
	folio_put(folio);
	return folio_anon_vma(folio);
}

/**
 * __unmap_migration_release - map again what is ahead
 * @m: the loop does not come to it
 *
 * The folios stay on the list.
 */
void __unmap_migration_release(struct unmap_migration *m)
{
	struct folio *folio = m->next, *next;

	for (; m->nr; m->nr--, folio = next) {
		struct anon_vma *anon_vma = folio_anon_vma(folio);

		next = list_next_entry(folio, lru);
		remove_migration_ptes(folio, folio, 0);
		put_anon_vma(anon_vma);
		folio_unlock(folio);
		folio_put(folio);
	}
}
