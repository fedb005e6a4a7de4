// SPDX-License-Identifier: GPL-2.0-only
/*
 * After an anonymous folio was split, put entries where migration entries of its pages are: for
 * many of its parts in one walk of rmap.  Stock walks once for each part.
 *
 * Parts that are single pages do not share what they have recorded of accesses and stores.
 *
 * Law 16: all parts are locked until each migration entry is gone.  None of them is pinned: the
 * folio had no unexpected reference when it was split, and nothing has mapped it since.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../compat_rmap.h"
#include "../internal.h"
#include "../knobs.h"
#include "../leave.h"
#include "../rmap.h"
#include "../run.h"
#include "../window.h"
#include "relocate.h"

/* So many pages are mapped in one walk: a word has a bit for each. */
#define SPLIT_TOGETHER	BITS_PER_LONG

/**
 * struct split - neighbouring pages of a folio that was split, soon to be mapped
 * @back: its current run
 * @first: the first of the pages
 * @pgoff: its index in the anon_vma
 * @nr: how many
 * @due: to which of them entries refer that may become the zero page: a bit for each
 * @zero: which of those are full of zeroes
 */
struct split {
	struct unmap_back back;
	struct page *first;
	pgoff_t pgoff;
	unsigned int nr;
	unsigned long due, zero;
};

/**
 * unmap_split_alike - how many migration entries differ from the first in nothing but the page
 * @ptep: the first one
 * @limit: how many may be looked at; they are in one table
 *
 * Page-table lock held on entry and return.
 */
unsigned int unmap_split_alike(pte_t *ptep, unsigned int limit)
{
	pte_t next = unmap_leave_after(unmap_arch_peek(ptep));
	unsigned int nr = 1;

	while (nr < limit) {
		if (nr + 4 <= limit && relocate_four_alike(ptep + nr, next)) {
			next = __pte(pte_val(next) + 4 * UNMAP_ARCH_SWAP_STEP);
			nr += 4;
			continue;
		}
		if (!pte_same(unmap_arch_peek(ptep + nr), next))
			break;
		next = unmap_leave_after(next);
		nr++;
	}
	return nr;
}

/* How many pages from the run's first on are folios of their own. */
static unsigned long split_singles(const struct split *s)
{
	const struct page *end = s->first + s->nr, *page = s->back.page;

	while (page < end && !PageCompound(page))
		page++;
	return page - s->back.page;
}

/**
 * unmap_split_limit - law 2: how many entries a run of single pages may have
 * @b: its first entry
 * @nr: how many pages from its page on are single
 */
unsigned int unmap_split_limit(const struct unmap_back *b, unsigned long nr)
{
	nr = min(nr, (unmap_run_table_end(b->addr, b->vma) - b->addr) >> PAGE_SHIFT);
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/* How many entries from the run's first on come back together. */
static unsigned int split_alike(const struct split *s)
{
	const struct unmap_back *b = &s->back;

	return unmap_split_alike(b->ptep, unmap_split_limit(b, split_singles(s)));
}

/* Whether the VMA may have the zero page in place of others. */
static bool split_vma_takes_zero(const struct vm_area_struct *vma)
{
	return !(vma->vm_flags & VM_LOCKED) && !mm_forbids_zeropage(vma->vm_mm);
}

/* Whether page @i of the run is to be mapped by the zero page. */
static bool split_takes_zero(const struct split *s, unsigned int i)
{
	const struct unmap_back *b = &s->back;
	struct page *page = b->page + i;

	return s->zero & BIT(page - s->first) && split_vma_takes_zero(b->vma) &&
	       !folio_test_mlocked(page_folio(page));
}

/* The page had its rmap removed already; it leaves rss, too. */
static void split_map_zero(const struct unmap_back *b, unsigned int i)
{
	struct vm_area_struct *vma = b->vma;
	unsigned long addr = b->addr + i * PAGE_SIZE;
	pte_t pte = pfn_pte(page_to_pfn(ZERO_PAGE(addr)), READ_ONCE(vma->vm_page_prot));

	pte = pte_mkspecial(pte);
	if (pte_swp_soft_dirty(b->old))
		pte = pte_mksoft_dirty(pte);
	if (pte_swp_uffd(b->old))
		pte = compat_restore_rwp(vma, pte_mkuffd(pte));
	set_pte_at(vma->vm_mm, addr, b->ptep + i, pte);
	dec_mm_counter(vma->vm_mm, MM_ANONPAGES);
}

/**
 * unmap_split_map_page - map one page, which is a folio of its own
 * @b: a run of migration entries
 * @i: which of its pages
 * @pte: what its entry is to be
 *
 * As folio_add_anon_rmap_pte() and its callers do.  Reference and rmap first: who finds the entry
 * may take a reference at once.  Page-table lock held on entry and return.
 *
 * Return: whether nothing had mapped it: the statistics are left to the caller.
 */
bool unmap_split_map_page(const struct unmap_back *b, unsigned int i, pte_t pte)
{
	unsigned long addr = b->addr + i * PAGE_SIZE;
	struct page *page = b->page + i;
	struct folio *folio = page_folio(page);
	bool first;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio) || folio_test_large(folio) ||
			      !folio_test_anon(folio), folio);
	folio_get(folio);
	first = atomic_inc_and_test(&page->_mapcount);
	VM_WARN_ON_ONCE_FOLIO(!first && PageAnonExclusive(page), folio);
	if (!softleaf_is_migration_read(b->entry))
		SetPageAnonExclusive(page);
	mlock_vma_folio(folio, b->vma);
	set_pte_at(b->vma->vm_mm, addr, b->ptep + i, pte);
	trace_remove_migration_pte(addr, pte_val(pte), 0);
	return first;
}

/* Law 16.  Still under the lock under which the entries were found. */
static void split_assert(const struct split *s)
{
	const struct unmap_back *b = &s->back;
	pte_t last = ptep_get(b->ptep + b->nr - 1);

	VM_WARN_ON_ONCE_FOLIO(b->page < s->first || b->page + b->nr > s->first + s->nr, b->dst);
	VM_WARN_ON_ONCE_FOLIO(PageCompound(b->page + b->nr - 1), b->dst);
	VM_WARN_ON_ONCE_FOLIO(pte_present(last), b->dst);
	VM_WARN_ON_ONCE_FOLIO(unmap_run_pfn(last) != page_to_pfn(b->page) + b->nr - 1, b->dst);
}

/* The run's pages are folios of their own. */
static void split_map_run(const struct split *s)
{
	const struct unmap_back *b = &s->back;
	pte_t pte = unmap_back_pte(b);
	struct rmap_debt debt = {};
	unsigned int i;

	split_assert(s);
	for (i = 0; i < b->nr; i++) {
		if (split_takes_zero(s, i))
			split_map_zero(b, i);
		else if (unmap_split_map_page(b, i, pte))
			rmap_owe(&debt, page_folio(b->page + i), NR_ANON_MAPPED, -1);
		pte = pte_next_pfn(pte);
	}
	rmap_pay_debt(&debt);
	if (b->vma->vm_flags & VM_LOCKED)
		mlock_drain_local();
	/* No TLB has them: they were not present. */
	update_mmu_cache_range(NULL, b->vma, b->addr, b->ptep, b->nr);
	unmap_count(UNMAP_STAT_BACK_RUNS, 1);
	unmap_count(UNMAP_STAT_BACK_ENTRIES, b->nr);
}

/* The page and those behind it, which its part has, or which are folios of their own. */
static void split_map(struct split *s)
{
	struct unmap_back *b = &s->back;

	b->src = page_folio(b->page);
	b->dst = b->src;
	if (folio_test_large(b->dst)) {
		unmap_back_run(b);
		return;
	}
	b->nr = split_alike(s);
	b->young = softleaf_is_migration_young(b->entry);
	b->dirty = softleaf_is_migration_dirty(b->entry);
	unmap_window();
	split_map_run(s);
}

/* Note which pages the entries refer to, if the zero page may stand for them. */
static void split_look(struct split *s)
{
	struct unmap_back *b = &s->back;
	unsigned int first = b->page - s->first;

	b->nr = 1;
	if (PageCompound(b->page) || !split_vma_takes_zero(b->vma))
		return;
	b->nr = split_alike(s);
	s->due |= GENMASK(first + b->nr - 1, first);
}

/* All entries in one VMA.  @addr: of the first page that it may map. */
static void split_in_vma(struct split *s, struct vm_area_struct *vma, unsigned long addr,
			 void (*step)(struct split *s))
{
	struct folio *folio = page_folio(s->first);
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, addr, PVMW_SYNC | PVMW_MIGRATION);

	pvmw.pfn = page_to_pfn(s->first);
	pvmw.nr_pages = s->nr;
	pvmw.pgoff = s->pgoff;
	s->back.vma = vma;
	while (unmap_run_walk(&pvmw)) {
		if (WARN_ON_ONCE(!pvmw.pte) || !unmap_back_start(&s->back, &pvmw))
			continue;
		s->back.page = pfn_to_page(softleaf_to_pfn(s->back.entry));
		step(s);
		if (!unmap_run_walk_on(&pvmw, s->back.nr))
			break;
	}
}

/* One walk, of all VMAs that may map one of the pages. */
static void split_walk(struct split *s, void (*step)(struct split *s))
{
	struct anon_vma *anon_vma = folio_anon_vma(page_folio(s->first));
	struct anon_vma_chain *avc;
	unsigned long addr;

	compat_anon_vma_foreach(avc, anon_vma, s->pgoff, s->pgoff + s->nr - 1) {
		addr = compat_anon_address(avc->vma, s->pgoff, s->nr);
		VM_WARN_ON_ONCE(addr == -EFAULT);
		cond_resched();
		split_in_vma(s, avc->vma, addr, step);
	}
	unmap_count(UNMAP_STAT_SPLIT_WALKS, 1);
}

/* Most pages show in their first word that they are not full of zeroes. */
static bool split_begins_with_zero(struct page *page)
{
	const unsigned long *word;
	bool zero;

	if (PageCompound(page) || PageHWPoison(page))
		return false;
	word = kmap_local_page(page);
	zero = !*word;
	kunmap_local(word);
	return zero;
}

/*
 * Of the pages that are mapped, which are full of zeroes?  Looked at without a page-table lock:
 * nobody can write to a page while migration entries refer to it, and once entries map it that
 * others share, who writes gets a copy, because it is locked.
 */
static void split_find_zero(struct split *s)
{
	unsigned long i;

	s->due = 0;
	s->zero = 0;
	for (i = 0; i < s->nr; i++)
		if (split_begins_with_zero(s->first + i))
			s->zero |= BIT(i);
	if (!s->zero)
		return;
	split_walk(s, split_look);
	s->zero &= s->due;
	for_each_set_bit(i, &s->zero, s->nr) {
		cond_resched();
		if (!pages_identical(s->first + i, ZERO_PAGE(0)))
			s->zero &= ~BIT(i);
	}
}

/* relocate.c did not queue what is mapped in part. */
static void split_note(struct folio *folio, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i += folio_nr_pages(folio), folio = folio_next(folio))
		if (folio_test_large(folio))
			rmap_note_if_partly_mapped(folio);
}

/**
 * __unmap_split_back - make present what try_to_migrate() has replaced, after a split
 * @folio: the first part; all parts are locked, and the caller has a reference to each
 * @nr: how many pages all parts have
 * @flags: whether to map pages full of zeroes by the zero page
 *
 * The caller holds the lock of the folio's anon_vma for writing.
 *
 * Return: false if this is left to stock: the folio was not split, or its memory is a device's.
 */
bool __unmap_split_back(struct folio *folio, unsigned long nr, compat_back_flags flags)
{
	struct split s = { .first = folio_page(folio, 0), .pgoff = folio_pgoff(folio) };
	unsigned long left;

	if (folio_nr_pages(folio) == nr || folio_is_zone_device(folio))
		return false;
	lockdep_assert_held_write(&folio_anon_vma(folio)->root->rwsem);
	for (left = nr; left; left -= s.nr, s.first += s.nr, s.pgoff += s.nr) {
		s.nr = min_t(unsigned long, left, SPLIT_TOGETHER);
		if (flags & COMPAT_BACK_ZEROPAGE)
			split_find_zero(&s);
		split_walk(&s, split_map);
	}
	split_note(folio, nr);
	return true;
}
