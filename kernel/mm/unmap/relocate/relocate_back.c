// SPDX-License-Identifier: GPL-2.0-only
/*
 * remove_migration_ptes(): put entries of the page's new place where migration entries are, a run
 * at a time; or of the old place, if the folio did not move.
 *
 * Law 16: every migration entry comes back, since the folio is about to be unlocked, and nobody may
 * meet a migration entry of an unlocked folio.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/userfaultfd_k.h>

#include "../compat_rmap.h"
#include "../flush.h"
#include "../internal.h"
#include "../knobs.h"
#include "../leave.h"
#include "../rmap.h"
#include "../run.h"
#include "../window.h"
#include "relocate.h"

/* The bits of a migration entry in which it differs from one that has @offset bits beside. */
static inline u64 back_bits(unsigned long offset)
{
	if (!migration_entry_supports_ad())
		return 0;
	/* x86 stores the offset inverted. */
	return pte_val(swp_entry_to_pte(swp_entry(0, offset))) ^
	       pte_val(swp_entry_to_pte(swp_entry(0, 0)));
}

/* Law 2: how many entries the run may have. */
static unsigned int back_limit(const struct unmap_back *b)
{
	unsigned long nr = folio_nr_pages(b->dst) - folio_page_idx(b->dst, b->page);

	/* In a shadow stack the dirty bit tells which entries are writable. */
	if (b->vma->vm_flags & VM_SHADOW_STACK)
		return 1;
	nr = min(nr, (unmap_run_table_end(b->addr, b->vma) - b->addr) >> PAGE_SHIFT);
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/*
 * Whether the run may have an entry @nr that differs in accessed from those before it, which all
 * agree: only with what is in the same block.  Else the run ends where the block begins.
 */
static bool back_takes_young(struct unmap_back *b, unsigned int *nr, unsigned int *limit)
{
	unsigned int in_block = ((b->addr >> PAGE_SHIFT) + *nr) % RELOCATE_YOUNG_TOGETHER;

	if (*nr > in_block) {
		*nr -= in_block;
		return false;
	}
	*limit = min(*limit, *nr - in_block + RELOCATE_YOUNG_TOGETHER);
	return true;
}

/**
 * unmap_back_find - set the length of a run of migration entries
 * @b: begun; gets also what the run's entries have recorded of accesses and stores
 *
 * Entries agree in type and marks; and in dirty, unless the pages are anonymous
 * (unmap_relocate_find() says why).  In accessed they differ only if all are in one block of
 * RELOCATE_YOUNG_TOGETHER.  Page-table lock held on entry and return.
 */
void unmap_back_find(struct unmap_back *b)
{
	u64 young = back_bits(SWP_MIG_YOUNG), dirty = back_bits(SWP_MIG_DIRTY);
	u64 free = folio_test_anon(b->dst) ? young | dirty : young;
	unsigned int limit = back_limit(b), nr = 1;
	pte_t next = unmap_leave_after(b->old);
	u64 differ, seen = 0;

	while (nr < limit) {
		if (nr + 4 <= limit && relocate_four_alike(b->ptep + nr, next)) {
			next = __pte(pte_val(next) + 4 * UNMAP_ARCH_SWAP_STEP);
			nr += 4;
			continue;
		}
		differ = pte_val(unmap_arch_peek(b->ptep + nr)) ^ pte_val(next);
		if (differ & ~free)
			break;
		if (differ & young && !(seen & young) && !back_takes_young(b, &nr, &limit))
			break;
		seen |= differ;
		next = unmap_leave_after(next);
		nr++;
	}
	b->nr = nr;
	b->young = softleaf_is_migration_young(b->entry) || seen & young;
	b->dirty = softleaf_is_migration_dirty(b->entry) || seen & dirty;
}

/*
 * Whether the entries become writable.  Who tracks stores takes write permission from what is
 * present, so that the next store is noticed; of migration entries, clear_refs takes only
 * soft-dirty, and PAGEMAP_SCAN only sets userfaultfd's bit.
 */
static bool back_is_writable(const struct unmap_back *b)
{
	return softleaf_is_migration_write(b->entry) && !pte_swp_uffd(b->old) &&
	       (!vma_soft_dirty_enabled(b->vma) || pte_swp_soft_dirty(b->old));
}

/**
 * unmap_back_pte - the entry that maps the first page of a run
 * @b: found
 */
pte_t unmap_back_pte(const struct unmap_back *b)
{
	struct vm_area_struct *vma = b->vma;
	pte_t pte = mk_pte(b->page, READ_ONCE(vma->vm_page_prot));
	bool uffd = pte_swp_uffd(b->old);

	if (!b->young)
		pte = pte_mkold(pte);
	if (b->dirty && folio_test_dirty(b->dst))
		pte = pte_mkdirty(pte);
	/* After pte_mkdirty(), which sets it on x86. */
	pte = pte_swp_soft_dirty(b->old) ? pte_mksoft_dirty(pte) : pte_clear_soft_dirty(pte);
	if (back_is_writable(b))
		pte = pte_mkwrite(pte, vma);
	else if (uffd)
		pte = pte_mkuffd(pte);
	return uffd ? compat_restore_rwp(vma, pte) : pte;
}

/* The trace point of stock is for each entry. */
static void back_trace(const struct unmap_back *b, pte_t pte)
{
	unsigned int i;

	if (!trace_remove_migration_pte_enabled())
		return;
	for (i = 0; i < b->nr; i++) {
		trace_remove_migration_pte(b->addr + i * PAGE_SIZE, pte_val(pte),
					   folio_order(b->dst));
		pte = pte_next_pfn(pte);
	}
}

/* Law 16.  Still under the lock under which the entries were found. */
static void back_assert(const struct unmap_back *b)
{
	pte_t last = ptep_get(b->ptep + b->nr - 1);

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(b->dst), b->dst);
	VM_WARN_ON_ONCE_FOLIO(pte_present(last), b->dst);
	VM_WARN_ON_ONCE_FOLIO(unmap_run_pfn(last) - unmap_run_pfn(b->old) != b->nr - 1, b->dst);
	VM_WARN_ON_ONCE_FOLIO(folio_page_idx(b->dst, b->page) + b->nr > folio_nr_pages(b->dst),
			      b->dst);
}

/* References and rmap first: who finds the entries may take a reference at once. */
static void back_map(const struct unmap_back *b)
{
	bool exclusive = !softleaf_is_migration_read(b->entry);
	struct vm_area_struct *vma = b->vma;
	pte_t pte = unmap_back_pte(b);

	back_assert(b);
	folio_ref_add(b->dst, b->nr);
	if (folio_test_anon(b->dst))
		folio_add_anon_rmap_ptes(b->dst, b->page, b->nr, vma, b->addr,
					 exclusive ? RMAP_EXCLUSIVE : RMAP_NONE);
	else
		folio_add_file_rmap_ptes(b->dst, b->page, b->nr, vma);
	set_ptes(vma->vm_mm, b->addr, b->ptep, pte, b->nr);
	if (vma->vm_flags & VM_LOCKED)
		mlock_drain_local();
	back_trace(b, pte);
	/* No TLB has them: they were not present. */
	update_mmu_cache_range(NULL, vma, b->addr, b->ptep, b->nr);
	unmap_count(UNMAP_STAT_BACK_RUNS, 1);
	unmap_count(UNMAP_STAT_BACK_ENTRIES, b->nr);
}

/**
 * unmap_back_start - begin a run where the walk is
 * @b: gets the entry, and where it is
 * @pvmw: the walk, at an entry
 *
 * Page-table lock (pvmw->ptl) held on entry and return.  Return: false if it is no migration
 * entry: what a device has for itself is outside rmap, and its page cannot have moved.
 */
bool unmap_back_start(struct unmap_back *b, const struct page_vma_mapped_walk *pvmw)
{
	b->old = unmap_arch_peek(pvmw->pte);
	b->entry = softleaf_from_pte(b->old);
	b->ptep = pvmw->pte;
	b->addr = pvmw->address;
	return likely(softleaf_is_migration(b->entry));
}

/**
 * unmap_back_run - map pages of a large folio where a run of migration entries is
 * @b: begun; its @page is set, too
 *
 * Page-table lock held on entry and return.
 */
void unmap_back_run(struct unmap_back *b)
{
	unmap_back_find(b);
	unmap_window();
	back_map(b);
}

/* One step of the walk, whose page-table lock (pvmw->ptl) is held.  Returns whether it goes on. */
static bool back_step(struct unmap_back *b, struct page_vma_mapped_walk *pvmw)
{
	if (!pvmw->pte) {
		compat_remove_migration_pmd(pvmw, b->dst);
		return true;
	}
	if (!unmap_back_start(b, pvmw))
		return true;
	b->page = folio_page(b->dst, softleaf_to_pfn(b->entry) - folio_pfn(b->src));
	unmap_back_run(b);
	return unmap_run_walk_on(pvmw, b->nr);
}

/* Called by the rmap walk, which holds the rmap lock of @vma.  Does not sleep. */
static bool back_to_vma(struct folio *dst, struct vm_area_struct *vma, unsigned long addr,
			void *arg)
{
	struct folio *src = arg;
	DEFINE_FOLIO_VMA_WALK(pvmw, src, vma, addr, PVMW_SYNC | PVMW_MIGRATION);
	struct unmap_back b = { .src = src, .dst = dst, .vma = vma };

	while (unmap_run_walk(&pvmw) && back_step(&b, &pvmw))
		;
	return true;
}

/*
 * Where set_ptes() makes contiguous blocks (arm64), no TLB may still have translations of single
 * pages in their place: if the pages did not move, the flush of relocate.c may be due still.
 */
static void back_flush(const struct folio *src, const struct folio *dst)
{
	if (src == dst && !UNMAP_ARCH_ONE_FLUSH)
		try_to_unmap_flush();
}

static void back(struct folio *src, struct folio *dst, bool locked)
{
	struct rmap_walk_control rwc = {
		.rmap_one = back_to_vma,
		.arg = src,
	};

	back_flush(src, dst);
	if (locked)
		rmap_walk_locked(dst, &rwc);
	else
		rmap_walk(dst, &rwc);
	/* relocate.c did not. */
	rmap_note_if_partly_mapped(dst);
}

/**
 * remove_migration_ptes - make present what try_to_migrate() has replaced
 * @src: the folio that migration entries refer to, locked
 * @dst: the folio that entries are to map, locked; @src, if it did not move
 * @flags: whether the rmap lock is held already, and whether to map pages full of zeroes by the
 *	zero page
 */
void remove_migration_ptes(struct folio *src, struct folio *dst, compat_back_flags flags)
{
	if (!unmap_relocates(src) || folio_is_zone_device(dst) || flags & COMPAT_BACK_ZEROPAGE)
		stock_remove_migration_ptes(src, dst, flags);
	else
		back(src, dst, flags & COMPAT_BACK_LOCKED);
}
