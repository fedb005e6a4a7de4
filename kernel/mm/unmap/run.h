/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding, putting back and retiring runs.  All of these functions are called
 * and return with the page-table lock held.
 *
 * What a run of one executes is inline: it must cost no more than a single
 * entry costs in stock code (law 9).
 */
#ifndef __MM_UNMAP_RUN_H
#define __MM_UNMAP_RUN_H

#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/userfaultfd_k.h>

#include <trace/events/unmap.h>

#include "internal.h"
#include "stat.h"

unsigned int unmap_run_length(struct unmap_op *op);
unsigned int unmap_run_length_exclusive(struct unmap_op *op);
unsigned int unmap_run_length_within(pte_t *ptep, pte_t pte, unsigned int limit);
void unmap_run_put_back(struct unmap_op *op, enum unmap_reason reason);
void unmap_run_leave_markers(struct vm_area_struct *vma,
			     const struct pte_run *run);

static inline unsigned long unmap_run_end(const struct pte_run *run)
{
	return run->addr + ((unsigned long)run->nr << PAGE_SHIFT);
}

/*
 * By how much the value of the entry of each further page is larger.  Once for a run:
 * pte_advance_pfn() checks whether x86 has inverted the PFN (L1TF).
 */
static __always_inline u64 unmap_run_step(pte_t pte)
{
	return pte_val(pte_advance_pfn(pte, 1)) - pte_val(pte);
}

/*
 * The end of the page table or of the VMA, whichever is first.  pmd_addr_end()
 * would be wrong: with a folded PMD it does not stop at the end of a table.
 */
static inline unsigned long unmap_run_table_end(unsigned long addr, struct vm_area_struct *vma)
{
	return min(addr | ~PMD_MASK, vma->vm_end - 1) + 1;
}

/*
 * A KVM guest has told the host that it does not need the page's content (s390).
 * With userfaultfd armed the page is kept all the same: the program that filled
 * it with UFFDIO_COPY does not expect another fault for it.
 *
 * The unused state of an entry is read when the entry is cleared, so the entries
 * of a run may differ in it, and only the first one's is known.  So drop runs of
 * one only: it is safe to keep pages that could be dropped.
 */
static inline bool unmap_run_is_unused(const struct unmap_op *op)
{
	pte_t pte = op->run.pte;

	return op->run.nr == 1 && pte_present(pte) && pte_unused(pte) &&
	       !userfaultfd_armed(op->vma);
}

/* Start @op's run at the walk's current entry.  It is all of the run if the folio is one page. */
static __always_inline void unmap_run_start(struct unmap_op *op,
					    struct page_vma_mapped_walk *pvmw)
{
	struct pte_run *run = &op->run;

	run->ptep = pvmw->pte;
	run->addr = pvmw->address;
	run->pte = unmap_arch_peek(pvmw->pte);
	run->page = folio_page(op->folio, 0);
	run->nr = 1;
	run->deferred = false;
}

/*
 * Move the walk to the run's last entry.  Its next step goes to the entry after
 * that, and checks for the end of the table and of the VMA.
 */
static inline void unmap_run_walk_past(struct page_vma_mapped_walk *pvmw, unsigned int nr)
{
	pvmw->pte += nr - 1;
	pvmw->address += (nr - 1) * PAGE_SIZE;
}

/* The same; false if the walk has ended, because no other entry of the VMA can map the pages. */
static inline bool unmap_run_walk_on(struct page_vma_mapped_walk *pvmw, unsigned int nr)
{
	if (nr == pvmw->nr_pages) {
		page_vma_mapped_walk_done(pvmw);
		return false;
	}
	unmap_run_walk_past(pvmw, nr);
	return true;
}

/*
 * page_vma_mapped_walk(), but through all tables.  Stock's walk, but for Linux 7.3's, ends at a PMD
 * that maps a huge page of other memory, although entries of the folio may be behind it.
 */
static inline bool unmap_run_walk(struct page_vma_mapped_walk *pvmw)
{
	unsigned long next;

	/* Otherwise the walk could take a lock that it has dropped for one that it holds. */
	VM_WARN_ON_ONCE(!(pvmw->flags & PVMW_SYNC));
	while (!page_vma_mapped_walk(pvmw)) {
		next = ALIGN_DOWN(pvmw->address, PMD_SIZE) + PMD_SIZE;
		if (!next || next >= vma_address_end(pvmw))
			return false;
		pvmw->address = next;
		pvmw->pmd = NULL;
		pvmw->pte = NULL;
		pvmw->ptl = NULL;
	}
	return true;
}

/* Which page an entry refers to that is present, device-exclusive or a migration entry. */
static inline unsigned long unmap_run_pfn(pte_t pte)
{
	if (likely(pte_present(pte)))
		return pte_pfn(pte);
	return softleaf_to_pfn(softleaf_from_pte(pte));
}

/*
 * The bits in which all entries of a run agree.  Only accessed and dirty are
 * left out: hardware sets them at any time, and an entry may gain them (law 3).
 */
static inline pte_t unmap_run_key(pte_t pte)
{
	return pte_mkold(pte_mkclean(pte));
}

/*
 * Whether the next entry does not continue the run.  Where entries alternate, to find that out by
 * unmap_run_length() for each would cost a tenth of all that is done with a page.
 */
static __always_inline bool unmap_run_is_short(const struct pte_run *run)
{
	pte_t *ptep = run->ptep + 1;
	pte_t next, want;

	if (PAGE_ALIGNED(ptep))
		return false;
	next = unmap_arch_peek(ptep);
	want = __pte(pte_val(run->pte) + unmap_run_step(run->pte));
	return !pte_same(next, want) && !pte_same(unmap_run_key(next), unmap_run_key(want));
}

/**
 * unmap_run_find - set the length of a run
 * @op: the other fields of its @run, which say where the run starts, are set
 */
static inline void unmap_run_find(struct unmap_op *op)
{
	op->run.nr = 1;
	if (folio_test_large(op->folio) && pte_present(op->run.pte) &&
	    !unmap_run_is_short(&op->run))
		op->run.nr = unmap_run_length(op);
}

/* Law 1: the entries do not map the pages any more. */
static inline void unmap_run_assert_gone(const struct unmap_op *op)
{
	const struct pte_run *run = &op->run;

	VM_WARN_ON_ONCE_FOLIO(pte_present(ptep_get(run->ptep)), op->folio);
	VM_WARN_ON_ONCE_FOLIO(pte_present(ptep_get(run->ptep + run->nr - 1)),
			      op->folio);
}

/**
 * unmap_run_retire - account for an unmapped run
 * @op: its @run is cleared, and the leftovers are written
 * @nr: the run's length; a constant for single pages
 * @counter: the rss counter the pages were counted in
 * @kind: for the trace point
 *
 * Takes the run out of rss and rmap and drops its references (laws 1 and 4).
 * The caller of try_to_unmap() holds a reference of its own, so this never
 * drops the last one.
 */
static __always_inline void unmap_run_retire(struct unmap_op *op, unsigned int nr,
					     int counter, enum unmap_kind kind)
{
	struct vm_area_struct *vma = op->vma;

	VM_WARN_ON_ONCE(nr != op->run.nr);
	unmap_run_assert_gone(op);
	update_hiwater_rss(vma->vm_mm);
	add_mm_counter(vma->vm_mm, counter, -(long)nr);
	folio_remove_rmap_ptes(op->folio, op->run.page, nr, vma);
	if (vma->vm_flags & VM_LOCKED)
		mlock_drain_local();
	folio_put_refs(op->folio, nr);
	trace_run(op, kind);	/* the count is last: a jump less for single pages */
	unmap_count_run(nr);
}

#endif /* __MM_UNMAP_RUN_H */
