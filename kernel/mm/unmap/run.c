// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs: found, cleared, put back, and retired.
 *
 * Everything here works on one run in one page table whose lock the caller
 * holds.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/userfaultfd_k.h>

#include "internal.h"

/*
 * What all entries of a run have in common.  Only accessed and dirty are left
 * out: hardware sets them behind our back, and gaining them is harmless
 * (law 3).
 */
static inline pte_t run_key(pte_t pte)
{
	if (unmap_sabotaged(UNMAP_SABOTAGE_PUT_BACK))
		pte = pte_clear_uffd_wp(pte_clear_soft_dirty(pte_wrprotect(pte)));
	return pte_mkold(pte_mkclean(pte));
}

static inline unsigned long run_bytes(const struct pte_run *run)
{
	return (unsigned long)run->nr << PAGE_SHIFT;
}

/* Law 2: how long may a run be that starts here? */
static unsigned int run_limit(const struct pte_run *run, struct folio *folio,
			      struct vm_area_struct *vma)
{
	unsigned long nr = folio_nr_pages(folio) -
			   folio_page_idx(folio, run->page);
	unsigned long end = pmd_addr_end(run->addr, vma->vm_end);

	if (unmap_sabotaged(UNMAP_SABOTAGE_TABLE_END))
		end = vma->vm_end;
	/*
	 * The entries of a shadow stack tell writable from write-protected by
	 * the dirty bit, which run_key() leaves out.
	 */
	if (vma->vm_flags & VM_SHADOW_STACK)
		return 1;
	nr = min(nr, (end - run->addr) >> PAGE_SHIFT);
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/**
 * unmap_run_find - find how long a run is
 * @run: @ptep, @addr, @pte and @page say where it starts; @nr is set
 * @folio: the folio that @page is part of
 * @vma: the VMA that @addr lies in
 *
 * Page-table lock held on entry and return.
 */
void unmap_run_find(struct pte_run *run, struct folio *folio,
		    struct vm_area_struct *vma)
{
	unsigned int nr, step, limit;
	pte_t want, pte;

	run->nr = 1;
	if (!folio_test_large(folio) || !pte_present(run->pte))
		return;

	limit = run_limit(run, folio, vma);
	want = run_key(run->pte);
	step = pte_batch_hint(run->ptep, run->pte);
	for (nr = step; nr < limit; nr += step) {
		pte = ptep_get(run->ptep + nr);
		want = pte_advance_pfn(want, step);
		if (!pte_same(run_key(pte), want))
			break;
		step = pte_batch_hint(run->ptep + nr, pte);
	}
	run->nr = min(nr, limit);
}

static void assert_bounds(const struct pte_run *run, struct vm_area_struct *vma)
{
	unsigned long last = run->addr + run_bytes(run) - 1;

	VM_WARN_ON_ONCE(!run->nr);
	VM_WARN_ON_ONCE((run->addr ^ last) & PMD_MASK);
	VM_WARN_ON_ONCE(run->addr < vma->vm_start || last >= vma->vm_end);
	VM_WARN_ON_ONCE(page_folio(run->page) !=
			page_folio(nth_page(run->page, run->nr - 1)));
}

/*
 * Gathering dirty may set soft-dirty as well (x86 pte_mkdirty() does): the
 * entries agreed in it, so the first one tells.
 */
static pte_t keep_soft_dirty(pte_t gathered, pte_t first)
{
	return pte_soft_dirty(first) ? gathered : pte_clear_soft_dirty(gathered);
}

/**
 * unmap_run_clear - take a run's entries out of the page table
 * @run: the run; accessed and dirty of all entries are gathered in its @pte
 * @vma: the VMA it lies in
 *
 * The TLB may still hold the translations: unmap_flush_run() comes next.
 * Page-table lock held on entry and return.
 */
void unmap_run_clear(struct pte_run *run, struct vm_area_struct *vma)
{
	struct mm_struct *mm = vma->vm_mm;
	pte_t first = run->pte;

	assert_bounds(run, vma);
	if (unlikely(!pte_present(first))) {
		pte_clear(mm, run->addr, run->ptep);
		return;
	}
	flush_cache_range(vma, run->addr, run->addr + run_bytes(run));
	run->pte = keep_soft_dirty(get_and_clear_full_ptes(mm, run->addr,
							   run->ptep, run->nr, 0),
				   first);
}

/**
 * unmap_run_put_back - give a cleared run its entries back
 * @run: as unmap_run_clear() left it
 * @vma: the VMA it lies in
 *
 * Law 3.  The TLB may or may not have been flushed in between: a stale
 * translation grants nothing that the entry does not grant again.
 * Page-table lock held on entry and return.
 */
void unmap_run_put_back(struct pte_run *run, struct vm_area_struct *vma)
{
	VM_WARN_ON_ONCE(!pte_none(ptep_get(run->ptep)));
	VM_WARN_ON_ONCE(!pte_none(ptep_get(run->ptep + run->nr - 1)));

	set_ptes(vma->vm_mm, run->addr, run->ptep, run->pte, run->nr);
	unmap_count(UNMAP_STAT_PUT_BACK_RUNS, 1);
	unmap_count(UNMAP_STAT_PUT_BACK_ENTRIES, run->nr);
}

/* Laws 1 and 6: nothing maps the pages here any more. */
static void assert_gone(const struct pte_run *run, struct folio *folio)
{
	pte_t pte = ptep_get(run->ptep);

	VM_WARN_ON_ONCE_FOLIO(pte_present(pte), folio);
	VM_WARN_ON_ONCE_FOLIO(folio_test_anon(folio) && !pte_none(pte), folio);
}

/**
 * unmap_run_retire - account for a run that is gone
 * @run: cleared, flushed or noted for a deferred flush, leftovers in place
 * @op: whose folio loses the mappings
 * @counter: the rss counter its pages were counted in
 *
 * Takes the run out of rss and rmap and drops its references (laws 1 and 4).
 * The caller of try_to_unmap() holds a reference of its own, so the last one
 * is never dropped here.  Page-table lock held on entry and return.
 */
void unmap_run_retire(struct pte_run *run, struct unmap_op *op, int counter)
{
	struct vm_area_struct *vma = op->vma;
	unsigned int nr = run->nr;

	assert_gone(run, op->folio);
	update_hiwater_rss(vma->vm_mm);
	add_mm_counter(vma->vm_mm, counter,
		       unmap_sabotaged(UNMAP_SABOTAGE_RSS) ? -1L : -(long)nr);
	folio_remove_rmap_ptes(op->folio, run->page, nr, vma);
	if (vma->vm_flags & VM_LOCKED)
		mlock_drain_local();
	folio_put_refs(op->folio, nr);
	unmap_count_run(nr);
}
