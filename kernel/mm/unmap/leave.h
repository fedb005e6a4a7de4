/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing entries that are not present in place of a cleared run: swap entries, when it is
 * evicted, or migration entries, when it is relocated.  All of these functions are called and
 * return with the page-table lock held.
 */
#ifndef __MM_UNMAP_LEAVE_H
#define __MM_UNMAP_LEAVE_H

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "internal.h"

/**
 * unmap_give_up_exclusive - clear PageAnonExclusive of a run's pages
 * @op: its @run is cleared, and its pages are exclusive; its entries are to record that
 *
 * folio_try_share_anon_rmap_pte() for the first page issues the barrier that GUP-fast
 * expects, and then checks the whole folio for pins.  The entries of all pages were cleared
 * before, so the check is good for all pages: it is enough to clear the flag of the others.
 *
 * Law 6.  Return: false if the folio may be pinned.  Then nothing has changed.
 */
static __always_inline bool unmap_give_up_exclusive(struct unmap_op *op)
{
	struct page *page = op->run.page;
	unsigned int i;

	if (folio_try_share_anon_rmap_pte(op->folio, page))
		return false;
	if (op->run.nr == 1)
		return true;
	for (i = 1; i < op->run.nr; i++)
		ClearPageAnonExclusive(page + i);
	smp_mb__after_atomic(); /* pairs with smp_rmb() in gup_must_unshare() */
	return true;
}

/*
 * Add the software bits of @pte, which may be device-exclusive, to an entry that is not present.
 * They are the same for all entries of a run.
 */
static inline pte_t unmap_leave_marks(pte_t swp_pte, pte_t pte)
{
	bool present = pte_present(pte);

	if (present ? pte_soft_dirty(pte) : pte_swp_soft_dirty(pte))
		swp_pte = pte_swp_mksoft_dirty(swp_pte);
	if (present ? pte_uffd(pte) : pte_swp_uffd(pte))
		swp_pte = pte_swp_mkuffd(swp_pte);
	return swp_pte;
}

/* The entry of the next offset, with the same marks: they are bits that the offset leaves. */
static __always_inline pte_t unmap_leave_after(pte_t pte)
{
	if (UNMAP_ARCH_SWAP_STEP)
		return __pte(pte_val(pte) + UNMAP_ARCH_SWAP_STEP);
	return pte_next_swp_offset(pte);
}

/* Write @pte into an entry, and make it that of the next one. */
static __always_inline void unmap_leave_one(struct mm_struct *mm, unsigned long *addr, pte_t **ptep,
					    pte_t *pte)
{
	unmap_arch_set_nonpresent(mm, *addr, *ptep, *pte);
	*pte = unmap_leave_after(*pte);
	*addr += PAGE_SIZE;
	++*ptep;
}

/*
 * Write @pte into the run's first entry, and those of the next offsets into the others: four at a
 * time, because the loop would be half of what is executed.
 */
static __always_inline void unmap_leave_entries(struct unmap_op *op, pte_t pte)
{
	struct mm_struct *mm = op->vma->vm_mm;
	unsigned long addr = op->run.addr;
	pte_t *ptep = op->run.ptep;
	const pte_t *end = ptep + op->run.nr;
	int i;

	unmap_leave_one(mm, &addr, &ptep, &pte);
	while (end - ptep >= 4)
		for (i = 0; i < 4; i++)
			unmap_leave_one(mm, &addr, &ptep, &pte);
	while (ptep < end)
		unmap_leave_one(mm, &addr, &ptep, &pte);
}

#endif /* __MM_UNMAP_LEAVE_H */
