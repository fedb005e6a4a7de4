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
 * The flush comes before the references of the pages are dropped.  Meanwhile migration entries
 * stand in for what was cleared; a fault that finds one waits for the lock.  The first one of a
 * run says which page it has mapped.  So one flush serves all pages of the table, and no memory
 * is needed, of which there is none in reclaim.  (The walk caches are flushed when the table is
 * unhooked.)
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
#include "run.h"

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

/* Returns the page that an entry maps; null if the entry has to stay, whatever its page is. */
static struct page *drop_page_of(const struct drop *d, struct vm_area_struct *vma,
				 unsigned long addr, pte_t pte)
{
	if (!pte_present(pte) || pte_uffd(pte) || (!d->written && pte_dirty(pte)))
		return NULL;
	return discard_normal_page(vma, addr, pte);
}

/*
 * How many entries from @ptep on, at most @max, map consecutive pages of a large folio, and
 * differ in accessed and dirty bits only.  @pte and @page: the first one.  What only large folios
 * need is not inline: single pages would pay for it.
 */
static noinline unsigned int drop_run_length(struct folio *folio, struct page *page,
					     pte_t *ptep, pte_t pte, unsigned int max)
{
	struct unmap_op op __uninitialized;

	max = min(max, READ_ONCE(unmap_max_run));
	op.run.ptep = ptep;
	op.run.pte = pte;
	return unmap_run_length_within(&op, min_t(unsigned long, max, folio_nr_pages(folio) -
						  folio_page_idx(folio, page)));
}

/* The same of entries that may go like the first one. */
static noinline unsigned int drop_judge_run(const struct drop *d, struct folio *folio,
					    struct page *page, pte_t *ptep, pte_t pte,
					    unsigned int max)
{
	unsigned int nr = drop_run_length(folio, page, ptep, pte, max), i = 1;

	if (d->written)
		return nr;
	while (i < nr) {
		pte = ptep_get(ptep + i);
		if (pte_dirty(pte))
			break;
		/* One look says it of a whole contiguous block (arm64). */
		i += pte_batch_hint(ptep + i, pte);
	}
	return min(i, nr);
}

/*
 * Judge an entry that is not none, and those that continue its run, at most @max in all.  Returns
 * how many may go; 0 if the entry has to stay.
 */
static unsigned int drop_judge_entry(const struct drop *d, struct vm_area_struct *vma,
				     unsigned long addr, pte_t *ptep, pte_t pte,
				     unsigned int max)
{
	struct page *page = drop_page_of(d, vma, addr, pte);
	struct folio *folio;

	if (!page)
		return 0;
	folio = page_folio(page);
	if (folio_test_anon(folio))
		return 0;
	return folio_test_large(folio) ? drop_judge_run(d, folio, page, ptep, pte, max) : 1;
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
		unsigned int nr;

		if (pte_none(pte)) {
			i = unmap_table_next_used(table, i + 1, end);
			continue;
		}
		nr = drop_judge_entry(d, vma, base + i * PAGE_SIZE, table + i, pte, end - i);
		if (!nr)
			return false;
		seen->used += nr;
		i += nr;
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
		used += !pte_none(unmap_arch_peek(table + i));
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

/* In place of the first entry of a run, and of the others: so a new run begins with each first. */
static __always_inline pte_t drop_first_stand_in(unsigned long pfn)
{
	return swp_entry_to_pte(make_writable_migration_entry(pfn));
}

static __always_inline pte_t drop_next_stand_in(unsigned long pfn)
{
	return swp_entry_to_pte(make_readable_migration_entry(pfn));
}

/* Clear entries, and leave in their place which pages they have mapped, from @pfn on. */
static __always_inline pte_t drop_clear_one(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
					    unsigned long pfn)
{
	pte_t pte = ptep_get_and_clear(mm, addr, ptep);

	set_pte(ptep, drop_first_stand_in(pfn));
	return pte;
}

static noinline pte_t drop_clear_many(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
				      unsigned long pfn, unsigned int nr)
{
	pte_t pte = unmap_arch_clear(mm, addr, ptep, nr, 0), next = drop_next_stand_in(pfn);
	unsigned int i;

	set_pte(ptep, drop_first_stand_in(pfn));
	for (i = 1; i < nr; i++)
		set_pte(ptep + i, next);
	return pte;
}

/*
 * Law 15: clear the run that begins with @pte, at most @max entries.  @last: the folio of the one
 * before it, if that was accessed; updated.  Returns the length of the run.
 */
static unsigned int drop_clear_run(const struct drop *d, unsigned long addr, pte_t *ptep,
				   pte_t pte, unsigned int max, struct folio **last)
{
	unsigned long pfn = pte_pfn(pte);
	struct page *page = pfn_to_page(pfn);
	struct folio *folio = page_folio(page);
	unsigned int nr = 1;

	VM_WARN_ON_ONCE(!pte_present(pte) || folio_test_anon(folio));
	if (folio_test_large(folio))
		nr = drop_run_length(folio, page, ptep, pte, max);
	pte = nr == 1 ? drop_clear_one(d->mm, addr, ptep, pfn) :
			drop_clear_many(d->mm, addr, ptep, pfn, nr);
	if (pte_dirty(pte))
		folio_mark_dirty(folio);
	if (pte_young(pte))
		drop_note_young(d, folio, *last);
	*last = pte_young(pte) ? folio : NULL;
	return nr;
}

static void drop_clear(const struct drop *d, pte_t *table, unsigned long base)
{
	struct folio *last = NULL;
	unsigned int i = 0;

	while (i < PTRS_PER_PTE) {
		pte_t pte = ptep_get(table + i);

		if (pte_none(pte))
			i = unmap_table_next_used(table, i + 1, PTRS_PER_PTE);
		else
			i += drop_clear_run(d, base + i * PAGE_SIZE, table + i, pte,
					    PTRS_PER_PTE - i, &last);
	}
}

/*
 * Clear the stand-ins of a run, the first of which is cleared already.  Returns its length.
 * Compares what the entries say: Xeon Phi may set accessed and dirty in one that was just cleared.
 */
static unsigned int drop_clear_stand_ins(struct mm_struct *mm, pte_t *ptep, unsigned long addr,
					 unsigned long pfn, unsigned int max)
{
	softleaf_t next = make_readable_migration_entry(pfn);
	unsigned int nr = 1;

	for (; nr < max && softleaf_from_pte(ptep_get(ptep + nr)).val == next.val; nr++)
		pte_clear(mm, addr + nr * PAGE_SIZE, ptep + nr);
	return nr;
}

/*
 * Release what a run of a large folio has mapped, from @page on, whose stand-in is cleared
 * already, but for the references.  Returns its length.
 */
static noinline unsigned int drop_release_large(struct vm_area_struct *vma,
						struct rmap_debt *debt, struct folio *folio,
						struct page *page, pte_t *ptep,
						unsigned long addr, unsigned int max)
{
	unsigned int nr = drop_clear_stand_ins(vma->vm_mm, ptep, addr, page_to_pfn(page), max);
	int gone = discard_rmap_large(folio, page, nr, vma);

	if (gone)
		discard_owe(debt, folio, NR_FILE_MAPPED, gone);
	return nr;
}

/*
 * Release what a run has mapped, for whose first entry @pte stands in.  Returns its length.
 * softleaf_to_page() would want the pages to be locked, as pages that migrate are.
 */
static unsigned int drop_release_run(struct vm_area_struct *vma, struct rmap_debt *debt, pte_t pte,
				     pte_t *ptep, unsigned long addr, unsigned int max, int *rss)
{
	softleaf_t first = softleaf_from_pte(pte);
	struct page *page = pfn_to_page(softleaf_to_pfn(first));
	struct folio *folio = page_folio(page);
	unsigned int nr = 1;

	VM_WARN_ON_ONCE(!softleaf_is_migration_write(first));
	pte_clear(vma->vm_mm, addr, ptep);
	if (folio_test_large(folio))
		nr = drop_release_large(vma, debt, folio, page, ptep, addr, max);
	else if (atomic_add_negative(-1, &folio->_mapcount))
		discard_owe(debt, folio, NR_FILE_MAPPED, 1);
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
		pte_t pte = ptep_get(table + i);

		if (pte_none(pte)) {
			i = unmap_table_next_used(table, i + 1, PTRS_PER_PTE);
			continue;
		}
		nr = drop_release_run(vma, &debt, pte, table + i, base + i * PAGE_SIZE,
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
