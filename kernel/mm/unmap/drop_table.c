// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drop one full page table: unmap all that it maps, and give it back.
 *
 * Law 15.  A table may go if a minor fault can have back each of its entries as it was: all
 * VMAs that it serves map a file whose pages faults map around (filemap_map_pages()), and each
 * entry is none, or maps a page of the page cache.  Nobody must know more of the entries than
 * faults do: no mlock, no userfaultfd, no soft-dirty tracking, no MMU notifier, no copied page.
 * What was judged is cleared under the same hold of the page-table lock.
 *
 * Nobody who looks for what maps a page may find a table without it while the page still counts
 * as mapped: truncation takes that for a bug.  So the table stays in its PMD, and is locked,
 * until nothing counts as mapped through it.
 *
 * Dirty bits go to the folios before the lock is dropped, and before the flush: the folios stay
 * mapped until then, so that writeback, which looks for writable entries, waits for the lock.
 * Accessed bits of an idle process are forgotten, but for idle page tracking: they would make the
 * whole file look recently used.  Those of a process that runs say what it used before it left
 * the table alone for a while, and go to the folios, as when memory is unmapped.
 *
 * The flush comes before the references of the pages are dropped.  Meanwhile each entry says
 * which page it has mapped, as a migration entry does; a fault that finds it waits for the lock.
 * So one flush serves all pages of the table, and no memory is needed, of which there is none in
 * reclaim.  (The walk caches are flushed when the table is unhooked.)
 */
#include <linux/dax.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/page_idle.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
#include <linux/swapops.h>
#include <linux/userfaultfd_k.h>

#include "discard.h"
#include "drop.h"
#include "internal.h"

/**
 * drop_vma_may - may page tables go that map nothing but this VMA's file?
 * @vma: its mmap lock is held
 *
 * Return: false if faults cannot be relied on to have them back as they were.
 */
bool drop_vma_may(const struct vm_area_struct *vma)
{
	return vma->vm_file && vma->vm_ops && vma->vm_ops->map_pages == filemap_map_pages &&
	       !(vma->vm_flags & (VM_LOCKED | VM_SPECIAL)) &&
	       !vma_is_dax((struct vm_area_struct *)vma) &&
	       !userfaultfd_armed((struct vm_area_struct *)vma) &&
	       !vma_soft_dirty_enabled((struct vm_area_struct *)vma);
}

/* Whether an entry that is not none maps a page of the page cache, and nothing else. */
static bool drop_entry_may(const struct drop *d, struct vm_area_struct *vma,
			   unsigned long addr, pte_t pte)
{
	struct page *page;

	if (!pte_present(pte) || pte_uffd(pte) || (!d->written && pte_dirty(pte)))
		return false;
	page = discard_normal_page(vma, addr, pte);
	return page && !folio_test_anon(page_folio(page));
}

/* What was seen of a table: entries that are not none, and entries that VMAs account for. */
struct drop_seen {
	unsigned int used;
	unsigned int covered;
};

/* Judge the entries of one VMA.  Returns whether all of them may go. */
static bool drop_judge_vma(const struct drop *d, struct vm_area_struct *vma, pte_t *table,
			   unsigned long base, struct drop_seen *seen)
{
	unsigned int i = (max(base, vma->vm_start) - base) >> PAGE_SHIFT;
	unsigned int end = (min(base + PMD_SIZE, vma->vm_end) - base) >> PAGE_SHIFT;

	seen->covered += end - i;
	while (i < end) {
		pte_t pte = ptep_get(table + i);

		if (pte_none(pte)) {
			i = unmap_table_next_used(table, i + 1, end);
			continue;
		}
		if (!drop_entry_may(d, vma, base + i * PAGE_SIZE, pte))
			return false;
		seen->used++;
		i++;
	}
	return true;
}

/*
 * Whether an entry that is not none belongs to no VMA: munmap() takes the VMAs away first, and
 * then zaps with the mmap lock for reading.
 */
static bool drop_has_strays(pte_t *table, const struct drop_seen *seen)
{
	unsigned int i, used = 0;

	if (seen->covered == PTRS_PER_PTE)
		return false;
	for (i = 0; i < PTRS_PER_PTE; i++)
		used += !pte_none(ptep_get(table + i));
	return used != seen->used;
}

/* Law 15.  Page-table lock and mmap lock held.  Returns a VMA of the table, or null: it stays. */
static struct vm_area_struct *drop_judge(const struct drop *d, pte_t *table, unsigned long base)
{
	struct vm_area_struct *vma, *found = NULL;
	struct drop_seen seen = {};
	struct vma_iterator vmi;

	/* It would be filled again. */
	if (unmap_table_stays(table))
		return NULL;
	vma_iter_init(&vmi, d->mm, base);
	for_each_vma_range(vmi, vma, base + PMD_SIZE) {
		if (!drop_vma_may(vma)) {
			unmap_count(UNMAP_STAT_DROP_KEPT_VMA, 1);
			return NULL;
		}
		if (!drop_judge_vma(d, vma, table, base, &seen)) {
			unmap_count(UNMAP_STAT_DROP_KEPT_ENTRY, 1);
			return NULL;
		}
		found = vma;
	}
	/* An empty table has its own ways to go. */
	return seen.used && !drop_has_strays(table, &seen) ? found : NULL;
}

/* An entry of the folio was accessed.  @last: the folio of the one before it, if that was, too. */
static void drop_note_young(const struct drop *d, struct folio *folio, const struct folio *last)
{
	folio_clear_idle(folio);
	if (d->runs && folio != last && vma_has_recency(d->batch.vma))
		folio_mark_accessed(folio);
}

/*
 * Law 15: clear an entry, and leave in its place which page it has mapped.  Returns the folio if
 * it was accessed.
 */
static struct folio *drop_clear_entry(const struct drop *d, unsigned long addr, pte_t *ptep,
				      const struct folio *last)
{
	pte_t pte = ptep_get_and_clear(d->mm, addr, ptep);
	struct folio *folio = page_folio(pte_page(pte));

	VM_WARN_ON_ONCE(!pte_present(pte) || folio_test_anon(folio));
	if (pte_dirty(pte))
		folio_mark_dirty(folio);
	if (pte_young(pte))
		drop_note_young(d, folio, last);
	set_pte(ptep, swp_entry_to_pte(make_readable_migration_entry(pte_pfn(pte))));
	return pte_young(pte) ? folio : NULL;
}

static void drop_clear(const struct drop *d, pte_t *table, unsigned long base)
{
	struct folio *last = NULL;
	unsigned int i = 0;

	while (i < PTRS_PER_PTE) {
		if (pte_none(ptep_get(table + i))) {
			i = unmap_table_next_used(table, i + 1, PTRS_PER_PTE);
			continue;
		}
		last = drop_clear_entry(d, base + i * PAGE_SIZE, table + i, last);
		i++;
	}
}

/* softleaf_to_page() wants the page to be locked, as pages that migrate are. */
static __always_inline struct page *drop_page_at(pte_t *ptep)
{
	return pfn_to_page(softleaf_to_pfn(softleaf_from_pte(ptep_get(ptep))));
}

/* How many entries from @ptep on, at most @max, have mapped this folio from @page on. */
static unsigned int drop_run_length(pte_t *ptep, struct folio *folio, struct page *page,
				    unsigned int max)
{
	unsigned int nr = 1;

	if (!folio_test_large(folio))
		return 1;
	max = min_t(unsigned long, max, folio_nr_pages(folio) - folio_page_idx(folio, page));
	while (nr < max && !pte_none(ptep_get(ptep + nr)) && drop_page_at(ptep + nr) == page + nr)
		nr++;
	return nr;
}

static void drop_rmap(struct rmap_debt *debt, struct folio *folio, struct page *page,
		      unsigned int nr, struct vm_area_struct *vma)
{
	int gone = folio_test_large(folio) ? discard_rmap_large(folio, page, nr, vma) :
					     atomic_add_negative(-1, &folio->_mapcount);

	if (gone)
		discard_owe(debt, folio, NR_FILE_MAPPED, gone);
}

/* Release what entries from @ptep on have mapped, at most @max.  Returns how many it took. */
static unsigned int drop_release_run(struct vm_area_struct *vma, struct rmap_debt *debt,
				     pte_t *ptep, unsigned long addr, unsigned int max, int *rss)
{
	struct page *page = drop_page_at(ptep);
	struct folio *folio = page_folio(page);
	unsigned int nr = drop_run_length(ptep, folio, page, max), i;

	for (i = 0; i < nr; i++)
		pte_clear(vma->vm_mm, addr + i * PAGE_SIZE, ptep + i);
	drop_rmap(debt, folio, page, nr, vma);
	rss[mm_counter_file(folio)] -= nr;
	folio_put_refs(folio, nr);
	return nr;
}

/* The TLB was flushed.  Law 4: everything is accounted for before the lock is dropped. */
static void drop_release(struct drop *d, pte_t *table, unsigned long base)
{
	struct vm_area_struct *vma = d->batch.vma;
	int rss[NR_MM_COUNTERS] = {};
	struct rmap_debt debt = {};
	unsigned int i = 0, nr, entries = 0;

	while (i < PTRS_PER_PTE) {
		if (pte_none(ptep_get(table + i))) {
			i = unmap_table_next_used(table, i + 1, PTRS_PER_PTE);
			continue;
		}
		nr = drop_release_run(vma, &debt, table + i, base + i * PAGE_SIZE,
				      PTRS_PER_PTE - i, rss);
		entries += nr;
		i += nr;
	}
	discard_pay_debt(&debt);
	update_hiwater_rss(vma->vm_mm);
	for (i = 0; i < NR_MM_COUNTERS; i++)
		if (rss[i])
			add_mm_counter(vma->vm_mm, i, rss[i]);
	unmap_count(UNMAP_STAT_DROP_ENTRIES, entries);
	d->drops_left -= min(d->drops_left, DROP_TABLE + entries);
}

/*
 * Unmap all that the table maps, if it may go.  Page-table lock held.  Returns whether the table
 * is empty now.
 */
static bool drop_empty(struct drop *d, pte_t *table, unsigned long base)
{
	struct vm_area_struct *vma = drop_judge(d, table, base);

	if (!vma)
		return false;
	d->batch.vma = vma;
	unmap_window();		/* for those who wait for the lock meanwhile */
	drop_clear(d, table, base);
	flush_tlb_range(vma, base, base + PMD_SIZE);
	drop_release(d, table, base);
	return true;
}

/**
 * drop_table - drop a full page table, if its entries can be had back by faults
 * @d: of its mm, whose mmap lock is held for reading
 * @pmd: may hold the table
 * @addr: an address that it translates
 *
 * Takes and drops the page-table lock and the PMD lock.  Nothing is allocated, and nothing but
 * these locks is waited for.
 *
 * Return: whether the table is gone.
 */
bool drop_table(struct drop *d, pmd_t *pmd, unsigned long addr)
{
	unsigned long base = addr & PMD_MASK;
	bool empty, given = false;
	spinlock_t *ptl;	/* the table's own */
	pte_t *table;

	mmap_assert_locked(d->mm);
	table = pte_offset_map_lock(d->mm, pmd, base, &ptl);
	if (!table)
		return false;
	flush_tlb_batched_pending(d->mm);
	empty = drop_empty(d, table, base);
	if (empty) {
		unmap_table_noticed(table);
		given = unmap_table_give_back(&d->batch, pmd, table, base, ptl, false);
	}
	pte_unmap_unlock(table, ptl);
	if (given) {
		unmap_table_free(&d->batch, table, base);
		return true;
	}
	if (!empty)
		return false;
	unmap_batch_note(&d->batch, pmd, base);
	return unmap_batch_free(&d->batch, 0);
}
