// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding the length of runs, and putting runs back.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

#include "internal.h"
#include "knobs.h"
#include "run.h"
#include "stat.h"

/* Law 2: the longest that the run may be. */
static unsigned int run_limit(const struct unmap_op *op)
{
	const struct pte_run *run = &op->run;
	unsigned long nr = folio_nr_pages(op->folio) -
			   folio_page_idx(op->folio, run->page);

	/*
	 * In a shadow stack the dirty bit tells writable from write-protected
	 * entries, and unmap_run_key() ignores it.
	 */
	if (op->vma->vm_flags & VM_SHADOW_STACK)
		return 1;
	/* Pages are poisoned one by one. */
	if (UNMAP_ARCH_UNMAPS_ONE || (op->flags & TTU_HWPOISON))
		return 1;
	nr = min(nr, (unmap_run_table_end(run->addr, op->vma) - run->addr) >> PAGE_SHIFT);
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/* Whether PageAnonExclusive of four pages is as @exclusive. */
static __always_inline bool run_four_exclusive(const struct page *page, bool exclusive)
{
	unsigned long a = *compat_page_flags(page), b = *compat_page_flags(page + 1);
	unsigned long c = *compat_page_flags(page + 2), d = *compat_page_flags(page + 3);

	return (exclusive ? a & b & c & d : ~(a | b | c | d)) & BIT(PG_anon_exclusive);
}

/* Law 6: how many of the next @nr pages agree with the run's first in PageAnonExclusive. */
static unsigned int run_exclusive_alike(const struct page *page, unsigned int nr,
					bool exclusive)
{
	unsigned int i = 0;

	while (i + 4 <= nr && run_four_exclusive(page + i, exclusive))
		i += 4;
	while (i < nr && compat_anon_exclusive(page + i) == exclusive)
		i++;
	return i;
}

/* Whether four entries from @ptep on agree with @want, and each further one is larger by @page. */
static __always_inline bool run_four_alike(const pte_t *ptep, pte_t want, u64 page)
{
	return !pte_val(unmap_run_key(unmap_arch_differ(ptep, want, page)));
}

/* The same for eight: one test for all of them, since a run's entries nearly always agree. */
static __always_inline bool run_eight_alike(const pte_t *ptep, pte_t want, u64 page)
{
	pte_t low = unmap_arch_differ(ptep, want, page);
	pte_t high = unmap_arch_differ(ptep + 4, __pte(pte_val(want) + 4 * page), page);

	return !pte_val(unmap_run_key(__pte(pte_val(low) | pte_val(high))));
}

/*
 * How many of @left entries from @ptep on continue a run, compared four or eight at a time.
 * The first is expected to be @want, each further one to be larger by @page.  Four first, so
 * that short runs stay cheap.
 */
static __always_inline unsigned int run_fours_alike(const pte_t *ptep, pte_t want, u64 page,
						    unsigned int left)
{
	const pte_t *next = ptep, *end = ptep + left;

	if (!UNMAP_ARCH_FOURS || left < 4 || !run_four_alike(next, want, page))
		return 0;
	want = __pte(pte_val(want) + 4 * page);
	for (next += 4; next + 8 <= end && run_eight_alike(next, want, page); next += 8)
		want = __pte(pte_val(want) + 8 * page);
	if (next + 4 <= end && run_four_alike(next, want, page))
		next += 4;
	return next - ptep;
}

/*
 * The same; if the first four differ, compare one entry, or one contiguous block of arm64
 * (pte_batch_hint()), which may reach beyond @left.  Returns 0 if the run ends here.
 */
static __always_inline unsigned int run_alike(pte_t *ptep, pte_t want, u64 page,
					      unsigned int left)
{
	unsigned int nr = run_fours_alike(ptep, want, page, left);
	pte_t pte;

	if (nr)
		return nr;
	pte = unmap_arch_peek(ptep);
	return pte_same(unmap_run_key(pte), want) ? pte_batch_hint(ptep, pte) : 0;
}

/*
 * How many entries to compare before their pages are checked.  PageAnonExclusive may end a run of
 * @nr pages early: then no more than it has, or four, so that on average none is read three times.
 */
static __always_inline unsigned int run_ahead(unsigned int left, unsigned int nr, bool swap)
{
	return swap ? min(left, max(nr, 4U)) : left;
}

/*
 * Count the entries that agree with @pte, the run's first one; if @swap, it maps @first, and their
 * pages must agree in PageAnonExclusive.  Read each entry and each page once, so that short runs of
 * large folios stay cheap.  Stop at @limit, rounded up to the end of a contiguous block of arm64
 * (pte_batch_hint()).
 */
static __always_inline unsigned int run_count_alike(pte_t *ptep, pte_t pte, struct page *first,
						    unsigned int limit, bool swap)
{
	bool exclusive = swap && compat_anon_exclusive(first);
	pte_t want = unmap_run_key(pte);
	u64 page = unmap_run_step(want);
	unsigned int nr = 0, step, same;

	step = run_fours_alike(ptep, want, page, run_ahead(limit, 0, swap));
	step = step ?: pte_batch_hint(ptep, pte);
	do {
		same = swap ? run_exclusive_alike(first + nr, step, exclusive) : step;
		nr += same;
		if (same < step || nr >= limit)
			break;
		want = __pte(pte_val(want) + step * page);
		step = run_alike(ptep + nr, want, page, run_ahead(limit - nr, nr, swap));
	} while (step);
	return nr;
}

/**
 * unmap_run_length_within - count the entries of a run of file pages
 * @ptep: the first entry
 * @pte: its value, which is present
 * @limit: does not reach beyond the table, nor beyond the folio
 *
 * Page-table lock held on entry and return.
 *
 * Return: the length, at least 1.  All entries map consecutive pages, and agree in everything
 * but accessed and dirty bits.
 */
unsigned int unmap_run_length_within(pte_t *ptep, pte_t pte, unsigned int limit)
{
	return min(limit, run_count_alike(ptep, pte, NULL, limit, false));
}

/*
 * The length of a run; of anonymous folios, @anon, that of pages which agree in
 * PageAnonExclusive.  Not inline: what it saves on the stack, lazyfree folios would pay, too.
 */
static noinline unsigned int run_length_exclusive(const struct pte_run *run, unsigned int limit,
						  bool anon)
{
	return min(limit, run_count_alike(run->ptep, run->pte, run->page, limit, anon));
}

/**
 * unmap_run_length - count the entries of a run
 * @op: its folio is large, and its @run starts at a present entry
 *
 * Page-table lock held on entry and return: it keeps PageAnonExclusive of the
 * mapped pages from changing.
 *
 * Return: the length, at least 1.
 */
unsigned int unmap_run_length(struct unmap_op *op)
{
	const struct pte_run *run = &op->run;
	struct folio *folio = op->folio;
	unsigned int limit = run_limit(op);

	if (folio_test_anon(folio) && folio_test_swapbacked(folio))
		return run_length_exclusive(run, limit, true);
	/* No call of unmap_run_length_within(), which takes half a percent of lazyfree 64K. */
	return min(limit, run_count_alike(run->ptep, run->pte, NULL, limit, false));
}

/**
 * unmap_run_length_exclusive - count the entries of a run that is relocated
 * @op: as for unmap_run_length()
 *
 * The pages of lazyfree folios agree in PageAnonExclusive, too: migration entries record it.
 * Page-table lock held on entry and return.
 *
 * Return: the length, at least 1.
 */
unsigned int unmap_run_length_exclusive(struct unmap_op *op)
{
	return run_length_exclusive(&op->run, run_limit(op), folio_test_anon(op->folio));
}

/**
 * unmap_run_put_back - restore the entries of a cleared run
 * @op: its @run is as unmap_run_clear() left it
 * @reason: for the trace point
 *
 * Law 3.  Stale TLB entries are harmless as such: they permit no more than the
 * restored entries do.  But set_ptes() may make a contiguous block of them
 * (arm64 contpte), and a TLB must not hold that and stale translations of
 * single pages at the same time: so make a deferred flush now.  Page-table lock
 * held on entry and return.
 */
void unmap_run_put_back(struct unmap_op *op, enum unmap_reason reason)
{
	struct pte_run *run = &op->run;

	VM_WARN_ON_ONCE(!pte_none(ptep_get(run->ptep)));
	VM_WARN_ON_ONCE(!pte_none(ptep_get(run->ptep + run->nr - 1)));

	if (run->nr > 1 && run->deferred)
		flush_tlb_range(op->vma, run->addr, unmap_run_end(run));
	set_ptes(op->vma->vm_mm, run->addr, run->ptep, run->pte, run->nr);
	unmap_count(UNMAP_STAT_PUT_BACK_RUNS, 1);
	unmap_count(UNMAP_STAT_PUT_BACK_ENTRIES, run->nr);
	trace_put_back(op, reason);
}

/**
 * unmap_run_leave_markers - write userfaultfd-wp markers into a cleared run
 * @vma: gets markers if it is registered for write-protection and is not anonymous
 * @run: cleared; its entries agreed in uffd-wp, so either all need a marker or
 *	none does
 *
 * Page-table lock held on entry and return.
 */
void unmap_run_leave_markers(struct vm_area_struct *vma,
			     const struct pte_run *run)
{
	cond_install_uffd_wp_ptes(vma, run->addr, run->ptep, run->pte, run->nr);
}
