/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Discarding: find a run, and clear it as it is found.  For discard.c alone, which
 * inlines all of it.
 *
 * The page-table lock is held on entry and return.
 */
#ifndef __MM_UNMAP_DISCARD_RUN_H
#define __MM_UNMAP_DISCARD_RUN_H

#include <linux/mm.h>
#include <linux/pgtable.h>

#include "discard.h"

/*
 * The bits in which all entries of a run agree.  Write permission, soft-dirty,
 * accessed and dirty of discarded entries do not matter any more; the PFN, uffd-wp
 * and the architecture's other bits do.
 */
static inline pte_t discard_alike_key(pte_t pte)
{
	return pte_wrprotect(pte_mkold(pte_mkclean(pte_clear_soft_dirty(pte))));
}

/* Nearly always all bits agree, so compare all of them first. */
static __always_inline bool discard_is_alike(pte_t pte, pte_t want)
{
	return pte_same(pte, want) ||
	       unlikely(pte_same(discard_alike_key(pte), discard_alike_key(want)));
}

/* The same for four entries: check the bits in which any differs from its expected value. */
static __always_inline bool discard_four_alike(const pte_t *ptep, pte_t want, u64 step)
{
	pte_t differ;

	if (!UNMAP_ARCH_FOURS)
		return false;
	differ = unmap_arch_differ(ptep, want, step);
	return !pte_val(differ) || unlikely(!pte_val(discard_alike_key(differ)));
}

/*
 * Clear entries of a run as they are found, with plain stores (x86-64).  A locked
 * exchange would differ in two ways only.
 *
 * It returns accessed and dirty bits that hardware has set since the load.  They do
 * not matter for anonymous memory that goes away: stock code ignores them, too.
 *
 * It is a memory barrier.  Here the locked decrement of the mapcount is the barrier
 * before anything is freed, and the locked increment of tlb_gen the one before any
 * flush.  GUP-fast takes its reference by a locked operation and then reads the
 * entry again: either it sees the entry gone and gives up, or its reference was
 * there before this code drops its own, and the page stays.
 *
 * Software changes entries with the page-table lock held.  Page walkers of
 * processors, IOMMUs and hypervisors only set accessed and dirty, atomically, and in
 * present entries: they cannot restore a cleared entry.  (Xeon Phi may set these two
 * bits in a cleared entry; pte_none() of x86 ignores them.)
 *
 * The last argument of clear_full_ptes() is 1 although the mm may live on.  On x86,
 * which alone takes this path, that selects a plain store and nothing else;
 * page_table_check is still called.  The hook x86__ptep_full__plain does not fit a kernel
 * where that is not so.
 */
static __always_inline void discard_clear_entries(struct discard *d, unsigned int at,
						  unsigned int nr, bool clear)
{
	if (clear)
		clear_full_ptes(d->tlb->mm, d->addr + at * PAGE_SIZE, d->ptep + at, nr, 1);
}

/*
 * Extend a run of @nr entries, four at a time, to @limit at most.  @want is the expected
 * value of the next entry, and is advanced.  Returns the new length.
 */
static __always_inline unsigned int discard_take_fours(struct discard *d, unsigned int nr,
						       pte_t *want, u64 step,
						       unsigned int limit, bool clear)
{
	while (nr + 4 <= limit && discard_four_alike(d->ptep + nr, *want, step)) {
		discard_clear_entries(d, nr, 4, clear);
		*want = __pte(pte_val(*want) + 4 * step);
		nr += 4;
	}
	return nr;
}

/*
 * Find the length of the run that begins with @pte; if @clear, clear its entries as they
 * are found.  The first entry belongs to the run without a comparison.  A single entry, or
 * contiguous block of arm64 (pte_batch_hint()), is the base for what the next one should be:
 * bits that do not matter may change in a run.  Physical addresses of 52 bits are not one
 * number in an entry, but the high bits are the same in all of a folio.
 */
static __always_inline unsigned int discard_take_run(struct discard *d, pte_t pte,
						     unsigned int limit, bool clear)
{
	u64 step = unmap_run_step(pte);
	unsigned int nr = 0, block;
	pte_t next;

	if (limit == 1) {
		discard_clear_entries(d, 0, 1, clear);
		return 1;
	}
	for (;;) {
		nr = discard_take_fours(d, nr, &pte, step, limit, clear);
		if (nr == limit)
			break;
		next = unmap_arch_peek(d->ptep + nr);
		if (nr && !discard_is_alike(next, pte))
			break;
		block = pte_batch_hint(d->ptep + nr, next);
		if (block > 1)	/* known when x86 is compiled */
			block = min(block, limit - nr);
		pte = __pte(pte_val(next) + block * step);
		discard_clear_entries(d, nr, block, clear);
		nr += block;
	}
	return nr;
}

/* Find a run's length without clearing it. */
static __always_inline unsigned int discard_run_length(struct discard *d, pte_t pte,
						       unsigned int limit)
{
	return limit == 1 ? 1 : discard_take_run(d, pte, limit, false);
}

static __always_inline unsigned int discard_clear_anon(struct discard *d, pte_t pte,
						       unsigned int limit)
{
	unsigned int nr;

	if (IS_ENABLED(CONFIG_UNMAP_PLAIN_CLEAR))
		return discard_take_run(d, pte, limit, true);
	nr = discard_run_length(d, pte, limit);
	clear_full_ptes(d->tlb->mm, d->addr, d->ptep, nr, d->tlb->fullmm);
	return nr;
}

#endif /* __MM_UNMAP_DISCARD_RUN_H */
