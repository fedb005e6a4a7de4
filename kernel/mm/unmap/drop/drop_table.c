// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drop one full page table: unmap all that it maps, and give it back.
 *
 * Law 15.  A table may go if a minor fault can have back each of its entries as it was: all
 * VMAs that it serves map a file whose pages faults map around (filemap_map_pages()), or SysV
 * shared memory, and each entry is none, or maps a page of the page cache.  Nobody must know more
 * of the entries than faults do: no mlock, no userfaultfd, no soft-dirty tracking, no MMU notifier,
 * no copied page.
 * What was judged is cleared under the same hold of the page-table lock.
 *
 * Nobody who looks, under its lock, for what maps a page may find a table without it while the
 * page still counts as mapped: truncation takes that for a bug.  So the table stays in its PMD, and
 * is locked, until nothing counts as mapped through it.
 *
 * Dirty bits go to the folios before the lock is dropped, and before the flush: the folios stay
 * mapped until then, so that writeback, which looks for writable entries, waits for the lock.
 * Accessed bits of an idle process are forgotten, but for idle page tracking: they would make the
 * whole file look recently used.  Those of a process that runs say what it used before it left
 * the table alone for a while, and go to the folios, as when memory is unmapped.
 *
 * The flush comes before the references of the pages are dropped.  Meanwhile a migration entry
 * says which page the first entry of a run has mapped; the others are none.  A fault waits for
 * the lock before it sets an entry, whichever it finds.  The page that it prepares for a none
 * entry until then will be needed, because no cleared entry is put back.  So one flush serves all
 * pages of the table, and dropping allocates nothing: reclaim has no memory to give.  (The walk
 * caches are flushed when the table is unhooked.)
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/page_idle.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
#include <linux/shmem_fs.h>
#include <linux/swapops.h>
#include <linux/userfaultfd_k.h>

#include "drop.h"
#include "../internal.h"
#include "../knobs.h"
#include "../rmap.h"
#include "../run.h"
#include "../stat.h"
#include "../window.h"

/*
 * SysV shared memory: its functions call those of shmem, but not for mapping around.  What
 * SHM_LOCK keeps in memory stays mapped, as with mlock().
 */
static bool drop_vma_is_sysv(const struct vm_area_struct *vma)
{
	const struct vm_operations_struct *ops = vma->vm_ops;
	struct address_space *mapping = vma->vm_file->f_mapping;

	return !ops->map_pages && ops->fault && shmem_mapping(mapping) &&
	       !mapping_unevictable(mapping);
}

/* Whether faults have the pages of this VMA's file back. */
static bool drop_faults_may(const struct vm_area_struct *vma)
{
	return vma->vm_file && vma->vm_ops &&
	       (vma->vm_ops->map_pages == filemap_map_pages || drop_vma_is_sysv(vma));
}

/**
 * drop_vma_may - may page tables go that map nothing but this VMA's file?
 * @vma: its mmap lock is held
 *
 * Return: false if faults cannot be relied on to have them back as they were.
 */
bool drop_vma_may(const struct vm_area_struct *vma)
{
	return drop_faults_may(vma) &&
	       !(vma->vm_flags & (VM_LOCKED | VM_SPECIAL)) &&
	       !vma_is_dax((struct vm_area_struct *)vma) &&
	       !userfaultfd_armed((struct vm_area_struct *)vma) &&
	       !vma_soft_dirty_enabled((struct vm_area_struct *)vma);
}

/* A table, which is locked, and what was seen of it. */
struct drop_seen {
	pte_t *table;
	unsigned long base;		/* the first address that it translates */
	unsigned int used;		/* entries that are not none */
	unsigned int covered;		/* entries that VMAs account for */
	/* The last entry of each run of a large folio. */
	DECLARE_BITMAP(run_ends, MAX_PTRS_PER_PTE);
};

/* Advance *@ptep to an entry in use, which @pte gets.  False: there is none before @end. */
static __always_inline bool drop_find_used(pte_t **ptep, pte_t *end, pte_t *pte)
{
	for (; *ptep < end; *ptep += unmap_table_next_used(*ptep, 1, end - *ptep)) {
		*pte = ptep_get(*ptep);
		if (!pte_none(*pte))
			return true;
	}
	return false;
}

static __always_inline unsigned long drop_addr(const struct drop_seen *seen, const pte_t *ptep)
{
	return seen->base + (ptep - seen->table) * PAGE_SIZE;
}

/* The length of the run of a large folio that begins at @ptep: most end in the same word. */
static unsigned int drop_run_length(const struct drop_seen *seen, const pte_t *ptep)
{
	unsigned int first = ptep - seen->table;
	unsigned long ends = seen->run_ends[BIT_WORD(first)] >> (first % BITS_PER_LONG);
	unsigned long last = likely(ends) ? first + __ffs(ends) :
			     find_next_bit(seen->run_ends, PTRS_PER_PTE, first);

	VM_WARN_ON_ONCE(last >= PTRS_PER_PTE);
	return last + 1 - first;
}

/*
 * How many entries from @ptep on, at most @max, map consecutive pages of a large folio, and differ
 * in accessed and dirty bits only; 0 if they have to stay.  @pte and @page: the first one.
 * What only large folios need is not inline: single pages would pay for it.
 */
static noinline unsigned int drop_judge_run(const struct drop *d, struct drop_seen *seen,
					    struct folio *folio, struct page *page,
					    pte_t *ptep, pte_t pte, unsigned int max)
{
	unsigned int nr, left = folio_nr_pages(folio) - folio_page_idx(folio, page);

	nr = unmap_run_length_within(ptep, pte, min3(max, left, READ_ONCE(unmap_max_run)));
	if (!d->written && unmap_arch_any_dirty(ptep, nr))
		return 0;
	__set_bit(ptep - seen->table + nr - 1, seen->run_ends);
	return nr;
}

/*
 * Judge an entry that is not none, and those that continue its run, at most @max in all.  Returns
 * how many may go; 0 if the entry has to stay.
 */
static unsigned int drop_judge_entry(const struct drop *d, struct drop_seen *seen,
				     struct vm_area_struct *vma, pte_t *ptep, pte_t pte,
				     unsigned int max)
{
	struct folio *folio;
	struct page *page;

	if (!pte_present(pte) || pte_uffd(pte) || (!d->written && pte_dirty(pte)))
		return 0;
	page = unmap_normal_page(vma, drop_addr(seen, ptep), pte);
	if (!page)
		return 0;
	folio = page_folio(page);
	if (folio_test_anon(folio))
		return 0;
	if (folio_test_large(folio))
		return drop_judge_run(d, seen, folio, page, ptep, pte, max);
	return 1;
}

/* Judge the entries of one VMA.  Returns whether all of them may go. */
static bool drop_judge_vma(const struct drop *d, struct drop_seen *seen,
			   struct vm_area_struct *vma)
{
	unsigned long base = seen->base;
	pte_t *ptep = seen->table + ((max(base, vma->vm_start) - base) >> PAGE_SHIFT);
	pte_t *end = seen->table + ((min(base + PMD_SIZE, vma->vm_end) - base) >> PAGE_SHIFT);
	unsigned int nr;
	pte_t pte;

	seen->covered += end - ptep;
	while (drop_find_used(&ptep, end, &pte)) {
		nr = drop_judge_entry(d, seen, vma, ptep, pte, end - ptep);
		if (!nr)
			return false;
		seen->used += nr;
		ptep += nr;
	}
	return true;
}

/*
 * Whether an entry that is not none belongs to no VMA: munmap() takes the VMAs away first, and
 * then zaps with the mmap lock for reading.
 */
static bool drop_has_strays(const struct drop_seen *seen)
{
	unsigned int i, used = 0;

	if (seen->covered == PTRS_PER_PTE)
		return false;
	for (i = 0; i < PTRS_PER_PTE; i++)
		used += !pte_none(unmap_arch_peek(seen->table + i));
	return used != seen->used;
}

/* Law 15.  Page-table lock and mmap lock held.  Returns a VMA of the table, or null: it stays. */
static struct vm_area_struct *drop_judge(const struct drop *d, struct drop_seen *seen)
{
	struct vm_area_struct *vma, *found = NULL;
	struct vma_iterator vmi;

	/* It would be filled again. */
	if (unmap_table_stays(seen->table))
		return NULL;
	vma_iter_init(&vmi, d->mm, seen->base);
	for_each_vma_range(vmi, vma, seen->base + PMD_SIZE) {
		/*
		 * Each page of SysV shared memory costs a fault to have back (Linux 6.12; 7.3 maps
		 * a folio), as if it had been written to.
		 */
		if (!drop_vma_may(vma) || (!d->written && !vma->vm_ops->map_pages)) {
			unmap_count(UNMAP_STAT_DROP_KEPT_VMA, 1);
			return NULL;
		}
		if (!drop_judge_vma(d, seen, vma)) {
			unmap_count(UNMAP_STAT_DROP_KEPT_ENTRY, 1);
			return NULL;
		}
		found = vma;
	}
	/* An empty table has its own ways to go. */
	return seen->used && !drop_has_strays(seen) ? found : NULL;
}

/* Whether accessed bits of @addr say that the page is wanted; the table may serve several VMAs. */
static bool drop_has_recency(const struct drop *d, unsigned long addr)
{
	struct vm_area_struct *vma = d->batch.vma;

	if (addr < vma->vm_start || addr >= vma->vm_end)
		vma = vma_lookup(d->mm, addr);
	return vma && vma_has_recency(vma);
}

/*
 * The entry of @addr was accessed, which maps @folio.  @last: the folio of the one before it, if
 * that was, too.
 */
static void drop_note_young(const struct drop *d, unsigned long addr, struct folio *folio,
			    const struct folio *last)
{
	folio_clear_idle(folio);
	if (d->busy && folio != last && drop_has_recency(d, addr))
		folio_mark_accessed(folio);
}

/*
 * Law 15: clear the run that begins with @pte, and leave in its place which page that has mapped.
 * @last: the folio of the run before it, if that was accessed; updated.  Returns its length.
 */
static unsigned int drop_clear_run(const struct drop *d, const struct drop_seen *seen,
				   pte_t *ptep, pte_t pte, struct folio **last)
{
	struct folio *folio = page_folio(pfn_to_page(pte_pfn(pte)));
	pte_t stand_in = swp_entry_to_pte(make_readable_migration_entry(pte_pfn(pte)));
	unsigned long addr = drop_addr(seen, ptep);
	unsigned int nr = 1;

	VM_WARN_ON_ONCE(!pte_present(pte) || folio_test_anon(folio));
	if (folio_test_large(folio)) {
		nr = drop_run_length(seen, ptep);
		pte = unmap_arch_clear(d->mm, addr, ptep, nr, 0);
	} else {
		pte = ptep_get_and_clear(d->mm, addr, ptep);
	}
	set_pte(ptep, stand_in);
	if (pte_dirty(pte))
		unmap_mark_dirty(folio);
	if (pte_young(pte))
		drop_note_young(d, addr, folio, *last);
	*last = pte_young(pte) ? folio : NULL;
	return nr;
}

static void drop_clear(const struct drop *d, const struct drop_seen *seen)
{
	pte_t *ptep = seen->table, *end = ptep + PTRS_PER_PTE, pte;
	struct folio *last = NULL;

	while (drop_find_used(&ptep, end, &pte))
		ptep += drop_clear_run(d, seen, ptep, pte, &last);
}

/* Release what a run of a large folio has mapped, from @page on, but for the references. */
static noinline void drop_release_large(struct vm_area_struct *vma, struct rmap_debt *debt,
					struct folio *folio, struct page *page, unsigned int nr)
{
	int gone = rmap_remove_large(folio, page, nr, vma);

	if (gone)
		rmap_owe(debt, folio, NR_FILE_MAPPED, gone);
}

/* Release what a run has mapped, for whose first entry @pte stands in.  Returns its length. */
static unsigned int drop_release_run(struct vm_area_struct *vma, const struct drop_seen *seen,
				     struct rmap_debt *debt, pte_t *ptep, pte_t pte, int *rss)
{
	/* softleaf_from_pte() would look for bits of software, of which a stand-in has none. */
	unsigned long pfn = __swp_offset(__pte_to_swp_entry(pte)) & SWP_PFN_MASK;
	struct page *page = pfn_to_page(pfn);
	struct folio *folio = page_folio(page);
	unsigned int nr = 1;

	VM_WARN_ON_ONCE(!softleaf_is_migration(softleaf_from_pte(pte)));
	pte_clear(vma->vm_mm, drop_addr(seen, ptep), ptep);
	if (folio_test_large(folio)) {
		nr = drop_run_length(seen, ptep);
		drop_release_large(vma, debt, folio, page, nr);
	} else if (atomic_add_negative(-1, &folio->_mapcount)) {
		rmap_owe(debt, folio, NR_FILE_MAPPED, 1);
	}
	rss[mm_counter_file(folio)] -= nr;
	folio_put_refs(folio, nr);
	return nr;
}

/* The TLB was flushed.  Law 4: everything is accounted for before the lock is dropped. */
static void drop_release(struct drop *d, const struct drop_seen *seen)
{
	pte_t *ptep = seen->table, *end = ptep + PTRS_PER_PTE, pte;
	struct vm_area_struct *vma = d->batch.vma;
	int rss[NR_MM_COUNTERS] = {};
	struct rmap_debt debt = {};
	unsigned int i;

	while (drop_find_used(&ptep, end, &pte))
		ptep += drop_release_run(vma, seen, &debt, ptep, pte, rss);
	rmap_pay_debt(&debt);
	update_hiwater_rss(vma->vm_mm);
	for (i = 0; i < NR_MM_COUNTERS; i++)
		if (rss[i])
			add_mm_counter(vma->vm_mm, i, rss[i]);
	unmap_count(UNMAP_STAT_DROP_ENTRIES, seen->used);
	d->drops_left -= min(d->drops_left, DROP_TABLE + seen->used);
}

/*
 * Unmap all that the table maps, if it may go.  Page-table lock held.  Returns whether the table
 * is empty now.
 */
static bool drop_empty(struct drop *d, pte_t *table, unsigned long base)
{
	struct drop_seen seen = { .table = table, .base = base };
	struct vm_area_struct *vma = drop_judge(d, &seen);

	if (!vma)
		return false;
	d->batch.vma = vma;
	unmap_window();		/* for those who wait for the lock meanwhile */
	drop_clear(d, &seen);
	flush_tlb_range(vma, base, base + PMD_SIZE);
	drop_release(d, &seen);
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
	} else if (empty) {
		unmap_batch_note(&d->batch, pmd, base);
		given = unmap_batch_free(&d->batch, 0);
	}
	return given;
}
