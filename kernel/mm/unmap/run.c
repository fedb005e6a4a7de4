// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs: how long they are, and how they are put back.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>

#include <asm/tlbflush.h>

#include "internal.h"
#include "run.h"

/*
 * What all entries of a run have in common.  Only accessed and dirty are left
 * out: hardware sets them behind our back, and gaining them is harmless
 * (law 3).
 */
static inline pte_t run_key(pte_t pte)
{
	return pte_mkold(pte_mkclean(pte));
}

/*
 * Where the table or the VMA ends, whichever is first.  pmd_addr_end() would
 * not do: with a folded PMD it knows of no table.
 */
static unsigned long run_table_end(unsigned long addr, struct vm_area_struct *vma)
{
	return min(addr | ~PMD_MASK, vma->vm_end - 1) + 1;
}

/* Law 2: how long may the run at hand be? */
static unsigned int run_limit(const struct unmap_op *op)
{
	const struct pte_run *run = &op->run;
	unsigned long nr = folio_nr_pages(op->folio) -
			   folio_page_idx(op->folio, run->page);

	/*
	 * The entries of a shadow stack tell writable from write-protected by
	 * the dirty bit, which run_key() leaves out.
	 */
	if (op->vma->vm_flags & VM_SHADOW_STACK)
		return 1;
	/* Poison is a matter of single pages. */
	if (UNMAP_ARCH_UNMAPS_ONE || (op->flags & TTU_HWPOISON))
		return 1;
	nr = min(nr, (run_table_end(run->addr, op->vma) - run->addr) >> PAGE_SHIFT);
	return min_t(unsigned long, nr, READ_ONCE(unmap_max_run));
}

/* Law 6: how many pages from here on are as exclusive as the run's first? */
static unsigned int run_exclusive_alike(const struct page *page, unsigned int nr,
					bool exclusive)
{
	unsigned int i = 0;

	while (i < nr && compat_anon_exclusive(page + i) == exclusive)
		i++;
	return i;
}

/* How many of @left entries continue a run with @want, and @page to the next, in fours? */
static __always_inline unsigned int run_fours_alike(const pte_t *ptep, pte_t want, u64 page,
						    unsigned int left)
{
	unsigned int nr = 0;

	while (UNMAP_ARCH_FOURS && nr + 4 <= left &&
	       !pte_val(run_key(unmap_arch_differ(ptep + nr, want, page)))) {
		want = __pte(pte_val(want) + 4 * page);
		nr += 4;
	}
	return nr;
}

/* How many do?  0, or as many as go together, which may be more than are left. */
static __always_inline unsigned int run_alike(pte_t *ptep, pte_t want, u64 page,
					      unsigned int left)
{
	unsigned int nr = run_fours_alike(ptep, want, page, left);
	pte_t pte;

	if (nr)
		return nr;
	pte = ptep_get(ptep);
	return pte_same(run_key(pte), want) ? pte_batch_hint(ptep, pte) : 0;
}

/* Where pages are looked at, too, runs may be short: four entries at a time. */
static __always_inline unsigned int run_ahead(unsigned int left, bool swap)
{
	return swap ? min(left, 4U) : left;
}

/*
 * One look at each entry, and at its page where that matters, so that short
 * runs of large folios stay cheap.  The first needs none: it is the run's own.  Counts
 * to @limit at most, rounded up to what the architecture says goes together.
 */
static __always_inline unsigned int run_count_alike(const struct unmap_op *op,
						    unsigned int limit, bool swap)
{
	const struct pte_run *run = &op->run;
	bool exclusive = swap && compat_anon_exclusive(run->page);
	pte_t want = run_key(run->pte);
	/* Advancing would look each time whether x86 has the address inverted. */
	u64 page = pte_val(pte_advance_pfn(want, 1)) - pte_val(want);
	unsigned int nr = 0, step, same;

	step = run_fours_alike(run->ptep, want, page, run_ahead(limit, swap));
	step = step ?: pte_batch_hint(run->ptep, run->pte);
	do {
		same = swap ? run_exclusive_alike(run->page + nr, step, exclusive) : step;
		nr += same;
		if (same < step || nr >= limit)
			break;
		want = __pte(pte_val(want) + step * page);
		step = run_alike(run->ptep + nr, want, page, run_ahead(limit - nr, swap));
	} while (step);
	return nr;
}

/**
 * unmap_run_length - how many entries agree with a run's first
 * @op: its folio is large, and its @run starts at a present entry
 *
 * Page-table lock held on entry and return: under it the exclusive marks of
 * pages that are mapped here stay what they are.
 *
 * Return: the length, at least 1.
 */
unsigned int unmap_run_length(struct unmap_op *op)
{
	struct folio *folio = op->folio;
	unsigned int limit = run_limit(op);
	bool swap = folio_test_anon(folio) && folio_test_swapbacked(folio);

	if (swap)
		return min(limit, run_count_alike(op, limit, true));
	return min(limit, run_count_alike(op, limit, false));
}

/**
 * unmap_run_put_back - give a cleared run its entries back
 * @op: with its @run as unmap_run_clear() left it
 *
 * Law 3.  A stale translation grants nothing that the entry does not grant
 * again, but set_ptes() may make one large translation of many entries (arm64
 * contpte), which must not meet small ones still in a TLB: a flush that was
 * only noted is made here.  Page-table lock held on entry and return.
 */
void unmap_run_put_back(struct unmap_op *op)
{
	struct pte_run *run = &op->run;

	VM_WARN_ON_ONCE(!pte_none(ptep_get(run->ptep)));
	VM_WARN_ON_ONCE(!pte_none(ptep_get(run->ptep + run->nr - 1)));

	if (run->nr > 1 && run->noted)
		flush_tlb_range(op->vma, run->addr, unmap_run_end(run));
	set_ptes(op->vma->vm_mm, run->addr, run->ptep, run->pte, run->nr);
	unmap_count(UNMAP_STAT_PUT_BACK_RUNS, 1);
	unmap_count(UNMAP_STAT_PUT_BACK_ENTRIES, run->nr);
}

/**
 * unmap_run_leave_markers - keep a file's memory write-protected by userfaultfd
 * @vma: where markers are left if it is registered for them
 * @run: cleared; a run agrees in write-protection, so either every entry needs
 *	a marker or none does
 *
 * Page-table lock held on entry and return.
 */
void unmap_run_leave_markers(struct vm_area_struct *vma,
			     const struct pte_run *run)
{
	unsigned int i;

	for (i = 0; i < run->nr; i++)
		pte_install_uffd_wp_if_needed(vma, run->addr + i * PAGE_SIZE,
					      run->ptep + i, run->pte);
}
