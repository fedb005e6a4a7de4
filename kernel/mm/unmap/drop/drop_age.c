// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which full page tables of a process that runs are old.
 *
 * The processor sets the accessed bit of the PMD through which it comes to a table.  A look
 * clears the bit, and notes the time in the table's descriptor.  If a later look finds the bit
 * still clear, nobody has used the table since.  Two things can make a table look old that is in
 * use:
 *
 * - A processor that has entries of the table in its TLB, or the PMD in its walk caches, does not
 *   look at the PMD again.  So a step in which times were noted ends with a flush of the mm.
 * - MGLRU clears the bit, too, and does not flush.  So its walk takes the noted time away
 *   (unmap_table_was_used()), and the next look is a first one.
 *
 * MGLRU's walk passes over tables whose bit is clear.  Of accesses before a look it learns when
 * it comes to evict the pages (folio_referenced()), or when the table is dropped (drop_table.c).
 *
 * The time is a hint, without a lock of its own: it shares a word with the watched entry, which
 * is looked at before it is relied on, and with the time at which a table was seen empty, which
 * is written when that happens.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/unmap.h>

#include "../arch.h"
#include "drop.h"
#include "../internal.h"
#include "../stat.h"

/*
 * A time that is longer ago, in ticks, is none: nobody initialises the word in the descriptor of a
 * new table, which holds what the page's last user left there.
 */
#define DROP_LONGEST_AGE	(3600 * TABLE_TICKS)

static pte_t *drop_table_in(pmd_t *pmd)
{
	return (pte_t *)pmd_page_vaddr(pmdp_get(pmd));
}

/*
 * Note a time, unless somebody writes the word meanwhile: it may have got an address, which must
 * stay.  PMD lock held.
 */
static void drop_stamp(pte_t *table, unsigned long ticks)
{
	unsigned long word = unmap_table_word(table);

	if (unmap_table_stays(table))
		return;
	cmpxchg(&virt_to_ptdesc(table)->pt_index, word, unmap_table_word_at(word, ticks));
}

/* A time in jiffies, rounded up, in ticks. */
static unsigned long drop_ticks(unsigned long age)
{
	return age ? DIV_ROUND_UP(age * TABLE_TICKS, HZ) + 1 : 0;
}

/**
 * unmap_table_was_used - MGLRU has found and cleared the accessed bit of a PMD
 * @pmd: holds a page table; PMD lock held
 *
 * Also while the switch is off: it may be switched on again.
 */
void unmap_table_was_used(pmd_t *pmd)
{
	/* A table that waits needs the time. */
	if (unmap_is_table(pmd) && !virt_to_ptdesc(drop_table_in(pmd))->__page_mapping)
		drop_stamp(drop_table_in(pmd), 0);
}

/*
 * PMD lock held.  An empty table keeps the time at which it was seen empty: it has its own ways to
 * go, which wait for a moment after that.  One that is in use and still listed has that time, which
 * MGLRU leaves alone: it gets a new one, and is looked at again.
 */
static bool drop_look_again(struct drop *d, struct vm_area_struct *vma, pmd_t *pmd,
			    unsigned long addr)
{
	pte_t *table = drop_table_in(pmd);
	unsigned long age = unmap_table_age(table);
	bool young;

	if (unmap_table_next_used(table, 0, PTRS_PER_PTE) == PTRS_PER_PTE)
		return false;
	young = pmdp_test_and_clear_young(vma, addr, pmd) || age > DROP_LONGEST_AGE ||
		virt_to_ptdesc(table)->__page_mapping;
	if (!young && age < drop_ticks(d->age))
		return false;
	/* An old table that has to stay must not be judged again in each call. */
	drop_stamp(table, unmap_table_now());
	d->flush |= young;
	return !young;
}

/**
 * drop_is_old - has a page table not been used for a while?
 * @d: of its mm, whose mmap lock is held; @d->age says how long
 * @vma: is in part translated by the table, and keeps it from being freed with its VMAs
 * @pmd: may hold the table
 * @addr: an address that it translates
 *
 * Takes and drops the PMD lock.  Sets @d->flush if drop_flush() is due.
 *
 * Return: false, too, if it was not looked at before, or where the hardware has no such bit.
 */
bool drop_is_old(struct drop *d, struct vm_area_struct *vma, pmd_t *pmd, unsigned long addr)
{
	bool old = false;
	spinlock_t *pml;	/* the PMD lock */

	if (!arch_has_hw_nonleaf_pmd_young())
		return false;
	pml = pmd_lock(d->mm, pmd);
	if (unmap_is_table(pmd))
		old = drop_look_again(d, vma, pmd, addr);
	spin_unlock(pml);
	unmap_count(old ? UNMAP_STAT_DROP_OLD : UNMAP_STAT_DROP_YOUNG, 1);
	return old;
}

/**
 * drop_flush - make processors look at the PMDs again whose accessed bits were cleared
 * @d: its mmap lock is held, and no page-table lock
 */
void drop_flush(struct drop *d)
{
	if (d->flush)
		unmap_arch_flush_mm(d->mm);
	d->flush = false;
}
