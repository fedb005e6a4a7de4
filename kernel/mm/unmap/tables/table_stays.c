// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables that stay (law 8).
 *
 * arm64 maps a hugetlb page of 64 KiB by 16 entries of an ordinary page table, in which other
 * VMAs may have entries, too.  hugetlb finds an entry without the table's lock, may sleep, and
 * takes the lock of the page that holds the entry, without a look at the PMD.  It could do all of
 * that with a table that was given back meanwhile.
 *
 * So huge_pte_alloc() marks the table, with the PMD lock held, and a marked table is not
 * unhooked, for which the PMD lock is held, too.  free_pgtables() frees it.
 *
 * huge_pte_offset() finds no entry in a table without that mark.  Nothing of hugetlb is in it,
 * because each entry was filled through huge_pte_alloc(): to hugetlb it is as if there were no
 * table.
 *
 * The mark is a page flag of the table, which Xen PV uses for page tables on x86.  The page
 * allocator clears it when the table is freed, by whomever.  mremap() moves it along with a whole
 * table, and a table that was deposited for a huge page has it when it comes back: such a
 * table stays although nothing of hugetlb is near it.  So does one whose hugetlb memory was
 * unmapped, while a neighbour keeps the table.  The mark must not be taken away then: munmap()
 * takes the VMA out of the tree first, and until free_pgtables() an rmap walk may have an entry.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/unmap.h>

#include "../internal.h"
#include "table.h"
#include "../window.h"

/*
 * Both locks, so that nobody writes our word to the table's descriptor any more: hugetlb may ask it
 * for a count from now on.  What stays does not wait, either.
 */
static void table_mark(struct mm_struct *mm, pmd_t *pmd, spinlock_t *pml)
{
	struct page *table = pmd_page(pmdp_get(pmd));
	spinlock_t *ptl = pte_lockptr(mm, pmd);	/* the table's */

	if (ptl != pml)
		spin_lock_nested(ptl, SINGLE_DEPTH_NESTING);
	SetPagePinned(table);
	unmap_table_leave(mm, table);
	if (ptl != pml)
		spin_unlock(ptl);
}

/*
 * Mark the table in a PMD, unless it was given back a moment ago.  The PMD lock and the table's
 * are taken and dropped.  Returns false if the PMD holds something else than a table, which
 * cannot be.
 */
static bool table_mark_stays(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *pml = pmd_lock(mm, pmd);
	bool is_table = unmap_is_table(pmd), strange = !is_table && !pmd_none(pmdp_get(pmd));

	VM_WARN_ON_ONCE(strange);
	if (is_table)
		table_mark(mm, pmd, pml);
	spin_unlock(pml);
	return !strange;
}

/**
 * unmap_huge_pte_offset - pte_offset_huge(), in a table that stays
 * @pmd: held a table; the locks are those of unmap_huge_pte_alloc()
 * @addr: an address that the table translates
 *
 * The PMD is read once, and the table that it held is not freed before the mark was read.  If it
 * has the mark, it had it when it was in the PMD, and is there still.
 *
 * Return: the entry; null if the table may be given back, or is gone.
 */
pte_t *unmap_huge_pte_offset(pmd_t *pmd, unsigned long addr)
{
	pte_t *ptep = NULL;
	pmd_t pmdval;

	rcu_read_lock();
	pmdval = pmdp_get_lockless(pmd);
	if (unmap_pmdval_is_table(pmdval) && PagePinned(pmd_page(pmdval)))
		ptep = pte_offset_huge(&pmdval, addr);
	rcu_read_unlock();
	return ptep;
}

/**
 * unmap_huge_pte_alloc - pte_alloc_huge(), of a table that stays
 * @mm: its mmap lock, the VMA's lock or the file's rmap lock is held
 * @pmd: holds a table or nothing; its lock is taken and dropped
 * @addr: an address that the table translates
 *
 * Return: the entry, which stays as long as a VMA is there; null if there is no memory.
 */
pte_t *unmap_huge_pte_alloc(struct mm_struct *mm, pmd_t *pmd, unsigned long addr)
{
	pte_t *ptep = unmap_huge_pte_offset(pmd, addr);

	while (!ptep) {
		if (pte_alloc(mm, pmd))
			return NULL;
		unmap_window();		/* other tasks may give the table back */
		if (!table_mark_stays(mm, pmd))
			return NULL;
		ptep = unmap_huge_pte_offset(pmd, addr);
	}
	return ptep;
}
