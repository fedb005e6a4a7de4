// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers for stock code that maps a page table without its lock, or assumes that a table
 * stays where it was seen (law 8).  Documentation/mm/unmap.rst lists all such readers, and
 * what protects each of them.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/signal.h>
#include <linux/unmap.h>

#include "../internal.h"
#include "table.h"

/**
 * unmap_table_missed - should the caller look for a page table again?
 * @pmd: pte_offset_map_lock() or a similar function found no table there
 *
 * The mmap lock, the VMA's lock or an rmap lock is held.
 *
 * Return: true if the PMD is none or holds a table now; false otherwise (a huge page).
 */
bool unmap_table_missed(pmd_t *pmd)
{
	pmd_t pmdval = pmdp_get_lockless(pmd);

	return pmd_none(pmdval) || !pmd_bad(pmdval);
}

/**
 * unmap_alloc_map_lock - map and lock a page table, allocating it if there is none
 * @mm: of the table
 * @pmd: holds a table, nothing, or a huge page
 * @addr: an address that the table translates
 * @ptlp: where the page-table lock is returned
 *
 * Replaces pte_alloc_map_lock(), whose callers take it for a lack of memory if the table is
 * freed before it is locked.
 *
 * Return: the entry, mapped, with its page-table lock held; null if there is no memory, if the
 * PMD holds a huge page, or if the task was killed while others freed the table again and again.
 */
pte_t *unmap_alloc_map_lock(struct mm_struct *mm, pmd_t *pmd,
			    unsigned long addr, spinlock_t **ptlp)
{
	pte_t *pte;

	do {
		if (pte_alloc(mm, pmd))
			return NULL;
		pte = pte_offset_map_lock(mm, pmd, addr, ptlp);
	} while (unlikely(!pte) && unmap_table_missed(pmd) &&
		 !fatal_signal_pending(current));
	return pte;
}

/**
 * unmap_table_gone - was a page table unhooked after it was mapped?
 * @mm: of the table; its mmap lock or the VMA's lock is held
 * @addr: an address that the table translated when it was mapped
 * @pte: an entry of the table, mapped; its page-table lock is held
 *
 * Another table or a huge page may have taken its place.  Neither can be in the same page, which
 * is not freed while it is mapped.
 */
bool unmap_table_gone(struct mm_struct *mm, unsigned long addr, pte_t *pte)
{
	pmd_t *pmd = mm_find_pmd(mm, addr);

	return !pmd || (pte_t *)pmd_page_vaddr(pmdp_get_lockless(pmd)) != unmap_table_of(pte);
}

/**
 * unmap_lockptr - the lock of the page table in a PMD
 * @mm: of the PMD
 * @pmd: its lock is held
 * @pml: the PMD lock
 *
 * Return: the page-table lock, or @pml if the PMD holds no table.
 */
spinlock_t *unmap_lockptr(struct mm_struct *mm, pmd_t *pmd, spinlock_t *pml)
{
	lockdep_assert_held(pml);
	return unmap_is_table(pmd) ? pte_lockptr(mm, pmd) : pml;
}

/**
 * unmap_is_table - does a PMD hold a page table?
 * @pmd: its lock is held, or the caller excludes all changes to it in another way
 */
bool unmap_is_table(pmd_t *pmd)
{
	return unmap_pmdval_is_table(pmdp_get(pmd));
}
