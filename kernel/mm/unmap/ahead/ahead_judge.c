// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unmapping ahead: which folios may go.  Each function that looks at an entry is called and
 * returns with the page-table lock held, so what it finds is true until that lock is dropped,
 * except that hardware may set accessed and dirty.
 *
 * Whatever is refused here is left to the loop of reclaim, which unmaps it as ever.
 */
#include <linux/ksm.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/page_idle.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/userfaultfd_k.h>

#include "ahead.h"
#include "../compat_rmap.h"
#include "../internal.h"

/* VMAs where a page needs more than to be unmapped, or where dirty has another meaning. */
#define AHEAD_VM_REFUSED	(VM_LOCKED | VM_SHADOW_STACK | VM_SPECIAL)

/*
 * The bits in which all entries of a stretch agree: all but the PFN, accessed and dirty.  Where
 * an architecture does not tell them, there are no bits to compare.
 */
static u64 ahead_bits(pte_t pte)
{
	return pgprot_val(pte_pgprot(pte_mkold(pte_mkclean(pte))));
}

/**
 * unmap_ahead_suits - whether a stretch may begin with the folio that was unmapped
 * @op: its @run is of that folio, evicted, or about to be (ahead_list.c)
 * @ahead: gets the kind
 *
 * The loop of reclaim, or list_suits(), has judged the folio.  So its mm is not being torn down,
 * if that counts.  Nor is this the pass that demotes: single pages do not get this far in it.
 */
bool unmap_ahead_suits(const struct unmap_op *op, struct unmap_ahead *ahead)
{
	pte_t pte = op->run.pte;

	VM_WARN_ON_ONCE(!(ahead->flags & TTU_BATCH_FLUSH));
	if (op->vma->vm_flags & AHEAD_VM_REFUSED || userfaultfd_armed(op->vma))
		return false;
	if (!folio_test_anon(op->folio))
		ahead->kind = UNMAP_KIND_FILE;
	else if (folio_test_swapbacked(op->folio))
		ahead->kind = UNMAP_KIND_SWAP;
	else
		ahead->kind = UNMAP_KIND_LAZYFREE;
	return pte_present(pte) && !pte_protnone(pte) && !pte_uffd(pte);
}

/**
 * unmap_ahead_is_mapped - whether @pte maps @folio, a single page
 * @folio: a reference is held
 * @pte: an entry of the table
 *
 * This alone proves that the folio belongs to the stretch.  Its place in reclaim's list and its
 * index are hints.
 */
bool unmap_ahead_is_mapped(struct folio *folio, pte_t pte)
{
	return pte_present(pte) && !folio_test_large(folio) &&
	       pte_pfn(pte) == folio_pfn(folio);
}

/* Of a file the whole stretch is in one mapping: the loop found out that it is evictable. */
static bool ahead_same_kind(const struct unmap_op *op, const struct unmap_ahead *ahead,
			    struct folio *folio)
{
	if (ahead->kind == UNMAP_KIND_FILE)
		return folio->mapping == op->folio->mapping;
	return folio_test_anon(folio) &&
	       folio_test_swapbacked(folio) == (ahead->kind == UNMAP_KIND_SWAP);
}

/**
 * unmap_ahead_needs_care - whether the loop of reclaim would look at the folio, or keep it,
 *	before it unmaps it
 * @folio: a reference is held
 */
bool unmap_ahead_needs_care(struct folio *folio)
{
	return folio_test_mlocked(folio) || folio_test_writeback(folio) ||
	       folio_test_ksm(folio) || folio_contain_hwpoisoned_page(folio) ||
	       folio_maybe_dma_pinned(folio);
}

/*
 * Only clean entries, except of folios in the swap cache: what is dirty, reclaim does not free in
 * this pass, but for what it writes to swap.
 */
static bool ahead_may_be_next(const struct unmap_op *op, const struct unmap_ahead *ahead,
			      struct folio *folio, pte_t pte)
{
	if (pte_dirty(pte) && ahead->kind != UNMAP_KIND_SWAP)
		return false;
	if (pte_protnone(pte))		/* its flush is not recorded: the stretch's would not be */
		return false;
	if (ahead_bits(pte) != ahead_bits(op->run.pte))
		return false;
	if (folio_mapcount(folio) != 1 || !ahead_same_kind(op, ahead, folio))
		return false;
	if (ahead->kind == UNMAP_KIND_LAZYFREE && folio_test_dirty(folio))
		return false;
	return !unmap_ahead_needs_care(folio);
}

/**
 * unmap_ahead_may_go - whether a folio may be unmapped ahead
 * @op: its @folio and its @run are the first of the stretch
 * @ahead: the stretch
 * @folio: locked
 * @pte: maps it
 */
bool unmap_ahead_may_go(const struct unmap_op *op, const struct unmap_ahead *ahead,
			struct folio *folio, pte_t pte)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	VM_WARN_ON_ONCE_FOLIO(pte_pfn(pte) != folio_pfn(folio), folio);

	if (ahead->kind == UNMAP_KIND_SWAP && !folio_test_swapcache(folio))
		return false;
	return ahead_may_be_next(op, ahead, folio, pte);
}

/**
 * unmap_ahead_is_hot - whether the loop of reclaim must judge the folio's references
 * @ahead: the stretch
 * @folio: locked
 * @pte: maps it
 *
 * Once the folio is unmapped the loop takes it for unreferenced.  Aging of MGLRU clears
 * young and then, on 6.12, sets PG_referenced, under the page-table lock, and the loop keeps
 * mapped folios that have it.  Without MGLRU, and since 6.18, PG_referenced counts alike
 * whether the folio is mapped or not.
 */
bool unmap_ahead_is_hot(const struct unmap_ahead *ahead, struct folio *folio, pte_t pte)
{
	if (!ahead->references)
		return false;
	if (pte_young(pte))
		return true;
	return compat_aging_kept(folio) || folio_test_young(folio);
}

/**
 * unmap_ahead_wants_swap - whether all that a folio needs to go is a swap entry
 * @op: its @folio and its @run are the first of the stretch
 * @ahead: the stretch
 * @folio: not locked; so this is a guess, but for what the page-table lock keeps
 * @pte: the entry that may map it
 */
bool unmap_ahead_wants_swap(const struct unmap_op *op, const struct unmap_ahead *ahead,
			    struct folio *folio, pte_t pte)
{
	return unmap_ahead_is_mapped(folio, pte) && !folio_test_swapcache(folio) &&
	       ahead_may_be_next(op, ahead, folio, pte) &&
	       !unmap_ahead_is_hot(ahead, folio, pte);
}
