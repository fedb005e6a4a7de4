// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration of single pages: those of one page table come back together.  When the loop of
 * migrate_pages_batch() copies a page, the next ones on its list are copied, too, if they are near
 * in the same anon_vma; then one walk maps all of them, in whatever VMAs there are entries: fork()
 * may have copied the entry of one into a VMA that has none of the first page.  In locked memory a
 * page must be on a list of the LRU before it is mapped: the entries there are left to the loop.
 *
 * Those stay on the list, ahead: both folios locked, and the new one not yet on a list of the LRU,
 * as if it waited in a CPU's batch to be added.  When the loop comes to one, it does the rest.
 *
 * Here is, too, what the loop asks about folios that are ahead.
 *
 * Law 16.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../compat_rmap.h"
#include "../flush.h"
#include "../internal.h"
#include "../knobs.h"
#include "../rmap.h"
#include "../run.h"
#include "../window.h"
#include "relocate.h"
#include "relocate_batch.h"

/* To copy and map together. */
static DEFINE_PER_CPU(struct unmap_pause, batch_back_pause);

/**
 * struct batch_back - pages that have been copied, soon to be mapped
 * @back: aimed at one entry
 * @low: the lowest index in the anon_vma
 * @high: the highest one
 * @left: there may be entries in locked memory, which stay
 * @vmas: how many VMAs may map one of the pages
 * @nr: how many
 * @src: the folios that migration entries refer to
 * @dst: their copies
 */
struct batch_back {
	struct unmap_back back;
	pgoff_t low, high;
	bool left;
	unsigned int vmas;
	unsigned int nr;
	struct folio *src[RELOCATE_BATCH_MAX];
	struct folio *dst[RELOCATE_BATCH_MAX];
};

/**
 * struct batch_table - a page table some of whose entries lead to copies again
 * @ptep: one of its entries; NULL if no table is locked
 * @addr: what that maps
 * @ptl: the lock
 * @debt: statistics of the pages mapped there
 */
struct batch_table {
	pte_t *ptep;
	unsigned long addr;
	spinlock_t *ptl;	/* of the table */
	struct rmap_debt debt;
};

/*
 * Whether this is a single page of anonymous memory that no list but migration's knows: in the swap
 * cache a copy has a swap entry where migration keeps what it knows of the copy.
 */
static __always_inline bool batch_is_plain(struct folio *src, struct folio *dst)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(src) || !folio_test_locked(dst), src);
	return folio_test_anon(src) && !folio_test_ksm(src) && !folio_test_large(src) &&
	       !folio_test_large(dst) && !folio_test_swapcache(src) &&
	       !folio_is_zone_device(dst);
}

/* Whether the next folio is copied now: it would not be if others had references to it. */
static bool batch_goes_along(const struct batch_back *batch, struct folio *src, struct folio *dst)
{
	const struct folio *first = batch->src[0];

	return src->mapping == first->mapping &&
	       src->index - first->index + PTRS_PER_PTE < 2 * PTRS_PER_PTE &&
	       batch_is_plain(src, dst) && folio_ref_count(src) == 1 && !folio_mapped(src);
}

/* The first page was copied: copy those behind it. */
static void batch_copy(struct batch_back *batch, const struct unmap_migration *m,
		       struct list_head *dst_next, enum migrate_mode mode)
{
	unsigned int limit = min(READ_ONCE(unmap_max_run), RELOCATE_BATCH_MAX);
	struct folio *src = batch->src[0], *dst;
	pgoff_t low = src->index, high = low;

	for (; batch->nr < limit; batch->nr++, dst_next = dst_next->next) {
		/* A fault may wait for those that are copied. */
		if (need_resched() || list_is_last(&src->lru, m->unmapped))
			break;
		src = list_next_entry(src, lru);
		dst = list_entry(dst_next, struct folio, lru);
		if (!batch_goes_along(batch, src, dst))
			break;
		if (move_to_new_folio(dst, src, mode))
			break;
		batch->src[batch->nr] = src;
		batch->dst[batch->nr] = dst;
		low = min(low, src->index);
		high = max(high, src->index);
	}
	batch->low = low;
	batch->high = high;
}

/* Aim at the migration entry of page @i.  Returns whether it is one. */
static bool batch_back_aim(struct batch_back *batch, unsigned int i, pte_t *ptep,
			   unsigned long addr)
{
	struct unmap_back *b = &batch->back;

	b->old = unmap_arch_peek(ptep);
	if (pte_none(b->old) || pte_present(b->old))
		return false;
	b->entry = softleaf_from_pte(b->old);
	if (!softleaf_is_migration(b->entry) ||
	    softleaf_to_pfn(b->entry) != folio_pfn(batch->src[i]))
		return false;
	b->src = batch->src[i];
	b->dst = batch->dst[i];
	b->page = folio_page(b->dst, 0);
	b->ptep = ptep;
	b->addr = addr;
	b->young = softleaf_is_migration_young(b->entry);
	b->dirty = softleaf_is_migration_dirty(b->entry);
	return true;
}

/*
 * The table for @addr, locked; NULL if there is none.  Whoever takes away a table that is in use
 * needs the rmap lock.
 */
static pte_t *batch_lock_table(struct mm_struct *mm, unsigned long addr, spinlock_t **ptl)
{
	pmd_t *pmd = mm_find_pmd(mm, addr), pmdval;
	pte_t *ptep;

	if (!pmd)
		return NULL;
	for (;;) {
		ptep = pte_offset_map_lock(mm, pmd, addr, ptl);
		if (likely(ptep))
			return ptep;
		pmdval = pmdp_get_lockless(pmd);
		if (!pmd_present(pmdval) || pmd_leaf(pmdval))
			return NULL;
		cpu_relax();
	}
}

static void batch_table_leave(struct batch_table *table)
{
	if (!table->ptep)
		return;
	rmap_pay_debt(&table->debt);
	pte_unmap_unlock(table->ptep, table->ptl);
	table->ptep = NULL;
}

/* The entry for @addr, whose table is locked; NULL if there is none. */
static pte_t *batch_table_entry(struct batch_table *table, struct mm_struct *mm,
				unsigned long addr)
{
	if (table->ptep && !((table->addr ^ addr) & PMD_MASK))
		return table->ptep + ((long)(addr - table->addr) >> PAGE_SHIFT);
	batch_table_leave(table);
	table->ptep = batch_lock_table(mm, addr, &table->ptl);
	table->addr = addr;
	if (table->ptep)
		unmap_window();
	return table->ptep;
}

/* All entries in one VMA. */
static void batch_back_in_vma(struct batch_back *batch, struct vm_area_struct *vma)
{
	struct batch_table table = { .ptep = NULL };
	unsigned long addr;
	unsigned int i;
	pte_t *ptep;

	batch->back.vma = vma;
	for (i = 0; i < batch->nr; i++) {
		addr = compat_anon_address(vma, batch->src[i]->index, 1);
		if (addr == -EFAULT)
			continue;
		ptep = batch_table_entry(&table, vma->vm_mm, addr);
		/* With the page-table lock: mlock() says so before it takes that to mark pages. */
		if (unlikely(vma->vm_flags & VM_LOCKED)) {
			batch->left = true;
			break;
		}
		if (!ptep || !batch_back_aim(batch, i, ptep, addr))
			continue;
		if (unmap_split_map_page(&batch->back, 0, unmap_back_pte(&batch->back)))
			rmap_owe(&table.debt, batch->dst[i], NR_ANON_MAPPED, -1);
		update_mmu_cache_range(NULL, vma, addr, ptep, 1);
	}
	batch_table_leave(&table);
}

/* One walk, of all VMAs that may map one of the pages. */
static void batch_back_walk(struct batch_back *batch, struct anon_vma *anon_vma)
{
	struct anon_vma_chain *avc;

	anon_vma_lock_read(anon_vma);
	compat_anon_vma_foreach(avc, anon_vma, batch->low, batch->high) {
		cond_resched();
		batch->vmas++;
		batch_back_in_vma(batch, avc->vma);
	}
	anon_vma_unlock_read(anon_vma);
	unmap_count(UNMAP_STAT_BATCHES_BACK, 1);
	unmap_count(UNMAP_STAT_BATCH_PAGES_BACK, batch->nr);
}

/* Law 16: an entry that leads to the old folio still. */
static bool batch_finds_entry(struct folio *src, struct vm_area_struct *vma,
			      unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, src, vma, address, PVMW_SYNC | PVMW_MIGRATION);

	while (page_vma_mapped_walk(&pvmw))
		VM_WARN_ON_ONCE_FOLIO(pvmw.pte && !pte_present(ptep_get(pvmw.pte)), src);
	return true;
}

/* Law 16: each entry that was put in is taken out. */
static void batch_assert_back(const struct batch_back *batch)
{
	struct rmap_walk_control rwc = { .rmap_one = batch_finds_entry };
	unsigned int i;

	if (!IS_ENABLED(CONFIG_DEBUG_VM) || batch->left)
		return;
	for (i = 0; i < batch->nr; i++)
		rmap_walk(batch->src[i], &rwc);
}

/**
 * __unmap_migration_move - move_to_new_folio(), also of the folios that come next
 * @m: nothing is ahead
 * @dst: the new folio, locked
 * @src: the old folio, locked and unmapped; on @m's list
 * @dst_next: where the next folio's copy is on the list of new folios
 * @anon_vma: of @src; the caller holds a reference
 * @mode: of the migration
 *
 * Return: as move_to_new_folio().  If other folios go along, all of their entries are back but
 * those in locked memory.
 */
int __unmap_migration_move(struct unmap_migration *m, struct folio *dst, struct folio *src,
			   struct list_head *dst_next, struct anon_vma *anon_vma,
			   enum migrate_mode mode)
{
	struct batch_back batch __uninitialized;
	bool plain = batch_is_plain(src, dst) && folio_anon_vma(src) == anon_vma &&
		     READ_ONCE(unmap_max_run) > 1 && !unmap_pauses(&batch_back_pause);
	int rc;

	/* Law 1. */
	VM_WARN_ON_ONCE(unmap_flush_is_due());
	rc = move_to_new_folio(dst, src, mode);
	if (rc || !plain)
		return rc;
	batch.src[0] = src;
	batch.dst[0] = dst;
	batch.nr = 1;
	batch.left = false;
	batch.vmas = 0;
	batch_copy(&batch, m, dst_next, mode);
	if (batch.nr == 1)
		return 0;
	batch_back_walk(&batch, anon_vma);
	batch_assert_back(&batch);
	/* One walk for all is worth it if they are in few VMAs, of which none is locked. */
	unmap_pause_learn(&batch_back_pause, batch.left || batch.vmas > 2 * batch.nr,
			  BATCH_LONGEST_PAUSE);
	m->back = src;
	m->left = batch.left;
	m->next = batch.src[1];
	m->nr = batch.nr - 1;
	return 0;
}

/**
 * __unmap_migration_moved - the loop has come to a folio that was copied and mapped ahead
 * @m: something is ahead
 * @src: the next one
 *
 * Return: true; false if it was not.
 */
bool __unmap_migration_moved(struct unmap_migration *m, struct folio *src)
{
	if (WARN_ON_ONCE(src != m->next))
		return false;
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(src) || folio_mapped(src), src);
	m->nr--;
	m->next = list_next_entry(src, lru);
	m->back = src;
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

	/* Where there is no memory for a copy, that may be so again. */
	unmap_pause_learn(&unmap_batch_pause, true, BATCH_LONGEST_PAUSE);
	for (; m->nr; m->nr--, folio = next) {
		struct anon_vma *anon_vma = folio_anon_vma(folio);

		VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio) || folio_mapped(folio), folio);
		next = list_next_entry(folio, lru);
		remove_migration_ptes(folio, folio, 0);
		put_anon_vma(anon_vma);
		folio_unlock(folio);
		folio_put(folio);
	}
}
