// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration of single pages: neighbours come back together.  When the loop of migrate_pages_batch()
 * copies a page, the next ones on its list are copied, too, if they have the next indices of the
 * same anon_vma, or those before; then one walk maps all of them, in whatever VMAs there are
 * entries: fork() may have copied a neighbour's entry into one that has none of the first page.
 * In locked memory a page must be on a list of the LRU before it is mapped: the entries there are
 * left to the loop.
 *
 * Those stay on the list, ahead: both folios locked, and the new one not yet on a list of the LRU,
 * as if it waited in a CPU's batch to be added.  When the loop comes to one, it does the rest.
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
#include "../internal.h"
#include "../knobs.h"
#include "../rmap.h"
#include "../run.h"
#include "../window.h"
#include "relocate.h"
#include "relocate_batch.h"

/**
 * struct batch_back - neighbours that have been copied, soon to be mapped
 * @back: aimed at one entry
 * @pgoff: the lowest index in the anon_vma
 * @down: the indices of those that follow are before the first one's, not behind it
 * @nr: how many
 * @left: there may be entries in locked memory, which stay
 * @src: the folios that migration entries refer to
 * @dst: their copies
 */
struct batch_back {
	struct unmap_back back;
	pgoff_t pgoff;
	bool down, left;
	unsigned int nr;
	struct folio *src[RELOCATE_BATCH_MAX];
	struct folio *dst[RELOCATE_BATCH_MAX];
};

/*
 * Whether this is a single page of anonymous memory that no list but migration's knows: in the swap
 * cache a copy has a swap entry where migration keeps what it knows of the copy.
 */
static bool batch_is_plain(struct folio *src, struct folio *dst)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(src) || !folio_test_locked(dst), src);
	return folio_test_anon(src) && !folio_test_ksm(src) && !folio_test_large(src) &&
	       !folio_test_large(dst) && !folio_test_swapcache(src) &&
	       !folio_is_zone_device(dst);
}

/* Whether the next folio is copied now: it would not be if others had references to it. */
static bool batch_goes_along(const struct batch_back *batch, struct folio *src, struct folio *dst)
{
	const struct folio *last = batch->src[batch->nr - 1];

	return src->mapping == last->mapping &&
	       src->index == (batch->down ? last->index - 1 : last->index + 1) &&
	       batch_is_plain(src, dst) && folio_ref_count(src) == 1 && !folio_mapped(src);
}

/* The first page was copied: copy those behind it. */
static void batch_copy(struct batch_back *batch, const struct unmap_migration *m,
		       struct list_head *dst_next, enum migrate_mode mode)
{
	unsigned int limit = min(READ_ONCE(unmap_max_run), RELOCATE_BATCH_MAX);
	struct folio *src = batch->src[0], *dst;

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
	}
}

/* Aim at the migration entry of the page with index @pgoff + @at.  Returns whether it is one. */
static bool batch_back_aim(struct batch_back *batch, unsigned int at, pte_t *ptep,
			   unsigned long addr)
{
	unsigned int i = batch->down ? batch->nr - 1 - at : at;
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

/* All entries of one table, whose lock is held, from @addr to @end. */
static void batch_back_in_table(struct batch_back *batch, pte_t *ptep, unsigned long addr,
				unsigned long end)
{
	struct unmap_back *b = &batch->back;
	unsigned int at = compat_anon_index(b->vma, addr) - batch->pgoff;
	struct rmap_debt debt = { .nr = 0 };

	VM_WARN_ON_ONCE(at + ((end - addr) >> PAGE_SHIFT) > batch->nr);
	for (; addr < end; addr += PAGE_SIZE, ptep++, at++) {
		if (!batch_back_aim(batch, at, ptep, addr))
			continue;
		if (unmap_split_map_page(b, 0, unmap_back_pte(b)))
			rmap_owe(&debt, b->dst, NR_ANON_MAPPED, -1);
		update_mmu_cache_range(NULL, b->vma, addr, ptep, 1);
	}
	rmap_pay_debt(&debt);
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

/* All entries in one VMA.  @addr: of the first page that it may map. */
static void batch_back_in_vma(struct batch_back *batch, struct vm_area_struct *vma,
			      unsigned long addr)
{
	unsigned long nr = batch->pgoff + batch->nr - compat_anon_index(vma, addr);
	unsigned long end = min(addr + nr * PAGE_SIZE, vma->vm_end), next;
	spinlock_t *ptl;	/* of the table */
	pte_t *ptep;

	if (vma->vm_flags & VM_LOCKED) {
		batch->left = true;
		return;
	}
	batch->back.vma = vma;
	for (; addr < end; addr = next) {
		next = min(end, unmap_run_table_end(addr, vma));
		ptep = batch_lock_table(vma->vm_mm, addr, &ptl);
		if (!ptep)
			continue;
		unmap_window();
		batch_back_in_table(batch, ptep, addr, next);
		pte_unmap_unlock(ptep, ptl);
	}
}

/* One walk, of all VMAs that may map one of the pages. */
static void batch_back_walk(struct batch_back *batch, struct anon_vma *anon_vma)
{
	struct anon_vma_chain *avc;
	unsigned long addr;

	anon_vma_lock_read(anon_vma);
	compat_anon_vma_foreach(avc, anon_vma, batch->pgoff, batch->pgoff + batch->nr - 1) {
		addr = compat_anon_address(avc->vma, batch->pgoff, batch->nr);
		VM_WARN_ON_ONCE(addr == -EFAULT);
		cond_resched();
		batch_back_in_vma(batch, avc->vma, addr);
	}
	anon_vma_unlock_read(anon_vma);
	unmap_count(UNMAP_STAT_BATCHES_BACK, 1);
	unmap_count(UNMAP_STAT_BATCH_PAGES_BACK, batch->nr);
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
		     READ_ONCE(unmap_max_run) > 1;
	int rc = move_to_new_folio(dst, src, mode);

	if (rc || !plain)
		return rc;
	batch.down = list_next_entry(src, lru)->index < src->index;
	batch.src[0] = src;
	batch.dst[0] = dst;
	batch.nr = 1;
	batch.left = false;
	batch_copy(&batch, m, dst_next, mode);
	if (batch.nr == 1)
		return 0;
	batch.pgoff = min(src->index, batch.src[batch.nr - 1]->index);
	batch_back_walk(&batch, anon_vma);
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
