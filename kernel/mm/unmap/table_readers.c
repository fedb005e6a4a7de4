// SPDX-License-Identifier: GPL-2.0-only
/*
 * For stock code that maps a page table without its lock, or takes for granted that
 * a table stays where it was seen (law 8).  Documentation/mm/unmap.rst has the list of
 * all who do, and what protects each of them.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/unmap.h>

#include "internal.h"
#include "table.h"

/* A page flag that nobody else has a use for in page tables; freeing clears it. */
#define UNMAP_TABLE_GONE	PG_owner_priv_1

/**
 * unmap_table_missed - is it worth while to look for a table again?
 * @pmd: no table was found there
 *
 * Not with a huge page.  The mmap lock, the VMA's lock or an rmap lock is held.
 */
bool unmap_table_missed(pmd_t *pmd)
{
	pmd_t pmdval = pmdp_get_lockless(pmd);

	return pmd_none(pmdval) || !pmd_bad(pmdval);
}

/**
 * unmap_alloc_map_lock - a table that is there, mapped and locked
 * @mm: of the table
 * @pmd: holds it, or nothing, or a huge page
 * @addr: an address it translates
 * @ptlp: where the lock is returned
 *
 * pte_alloc_map_lock() takes it for a lack of memory if the table goes before it is
 * locked.
 *
 * Return: the entry, mapped, its lock held; null without memory, or with a huge page.
 */
pte_t *unmap_alloc_map_lock(struct mm_struct *mm, pmd_t *pmd,
			    unsigned long addr, spinlock_t **ptlp)
{
	pte_t *pte;

	do {
		if (pte_alloc(mm, pmd))
			return NULL;
		pte = pte_offset_map_lock(mm, pmd, addr, ptlp);
	} while (unlikely(!pte) && unmap_table_missed(pmd));
	return pte;
}

/**
 * unmap_table_set_gone - tell those who have mapped a table that it is given back
 * @table: unhooked; its lock is held
 */
void unmap_table_set_gone(pte_t *table)
{
	set_bit(UNMAP_TABLE_GONE, &virt_to_ptdesc(table)->__page_flags);
}

/**
 * unmap_table_gone - was the table given back after it was mapped?
 * @pte: an entry of it, mapped; its lock is held
 */
bool unmap_table_gone(pte_t *pte)
{
	return test_bit(UNMAP_TABLE_GONE, &virt_to_ptdesc(pte)->__page_flags);
}

/**
 * unmap_lockptr - the lock of the table in a PMD, if there is one
 * @mm: of the PMD
 * @pmd: its lock is held
 * @pml: that lock, which is returned if there is no table
 */
spinlock_t *unmap_lockptr(struct mm_struct *mm, pmd_t *pmd, spinlock_t *pml)
{
	lockdep_assert_held(pml);
	return unmap_is_table(pmd) ? pte_lockptr(mm, pmd) : pml;
}

/**
 * unmap_is_table - does a PMD hold a page table?
 * @pmd: its lock is held, or all are kept away who might change it
 */
bool unmap_is_table(pmd_t *pmd)
{
	pmd_t pmdval = pmdp_get(pmd);

	return pmd_present(pmdval) && !pmd_leaf(pmdval) && !pmd_bad(pmdval);
}
