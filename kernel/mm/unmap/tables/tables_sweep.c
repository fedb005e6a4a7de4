// SPDX-License-Identifier: GPL-2.0-only
/*
 * Search for empty page tables in ranges whose entries stock code has cleared, and where a table is
 * that waits.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/rwsem.h>
#include <linux/sched.h>

#include "../internal.h"
#include "table.h"

/**
 * unmap_pmd_looks_empty - does a PMD hold a page table that may be empty?
 * @pmd: the caller keeps the page of PMDs from being freed
 * @addr: an address that it translates
 * @age: not if the table was seen empty less than this many ticks ago
 *
 * Reads the watched entry without a lock, only to decide whether to take the locks.
 */
bool unmap_pmd_looks_empty(pmd_t *pmd, unsigned long addr, unsigned long age)
{
	pte_t *table = pte_offset_map(pmd, addr & PMD_MASK);
	bool empty;

	if (!table)
		return false;
	empty = !unmap_table_stays(table) && (!age || unmap_table_age(table) >= age) &&
		pte_none(ptep_get_lockless(table + unmap_table_watched(table)));
	pte_unmap(table);
	return empty;
}

/**
 * unmap_find_vma - find a VMA that keeps a page table from being freed by free_pgtables()
 * @mm: its mmap lock is held
 * @addr: an address that the table translates
 *
 * The VMA of @addr nearly always still exists; if not, any VMA that overlaps the table will do.
 *
 * Return: the VMA; null if there is none, or it is hugetlb's.
 */
struct vm_area_struct *unmap_find_vma(struct mm_struct *mm, unsigned long addr)
{
	unsigned long start = addr & PMD_MASK;
	struct vm_area_struct *vma = vma_lookup(mm, addr);

	if (!vma)
		vma = find_vma_intersection(mm, start, start + PMD_SIZE);
	return vma && !is_vm_hugetlb_page(vma) ? vma : NULL;
}

/*
 * Whether the PUD holds a page of PMDs.  It is read once: a PUD that holds a page of PMDs keeps
 * it while the mmap lock or the VMA's lock is held, but any other PUD may change at any time.
 */
static bool sweep_has_pmds(pud_t *pud)
{
	pud_t pudval = pudp_get(pud);

	return pud_present(pudval) && !pud_leaf(pudval);
}

/**
 * unmap_find_pmd - find the PMD of an address, if a page of PMDs is there
 * @mm: its mmap lock or the lock of a VMA at @addr is held
 * @addr: the address
 *
 * As mm_find_pmd(), which takes a huge PUD for a page of PMDs.  Drivers map huge PUDs in VMAs of
 * many kinds.
 *
 * Return: the PMD, or null.
 */
pmd_t *unmap_find_pmd(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	if (!pgd_present(*pgd))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (!p4d_present(*p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	return sweep_has_pmds(pud) ? pmd_offset(pud, addr) : NULL;
}

/*
 * Free the empty tables of a range that @vma overlaps, or let them wait.  Holes are passed over
 * by a page of PMDs at a time.
 */
static void sweep_vma(struct vm_area_struct *vma, unsigned long start, unsigned long end,
		      bool mmap_locked)
{
	struct table_batch batch;
	unsigned long addr, next;
	pmd_t *pmd;

	unmap_batch_begin(&batch, vma, NULL);
	batch.by = TABLE_BY_MOVE;
	batch.mmap_locked = mmap_locked;
	for (addr = start & PMD_MASK; addr < end; addr = next) {
		pmd = unmap_find_pmd(vma->vm_mm, addr);
		next = pmd ? addr + PMD_SIZE : ALIGN(addr + 1, PUD_SIZE);
		if (pmd && unmap_pmd_looks_empty(pmd, addr, 0)) {
			unmap_batch_make_room(&batch, addr);
			unmap_batch_note(&batch, pmd, addr);
		}
		cond_resched();
	}
	unmap_batch_settle(&batch);
}

/**
 * unmap_sweep_range - free the empty tables of a range, or let them wait, as the policy says
 * @mm: its mmap lock is held on entry and return
 * @start: start of the range; tables that only overlap the range are examined, too
 * @end: end of the range
 *
 * Called by stock code that clears entries itself.
 */
void unmap_sweep_range(struct mm_struct *mm, unsigned long start, unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;

	if (!unmap_tables_enabled())
		return;
	for_each_vma_range(vmi, vma, end)
		if (!is_vm_hugetlb_page(vma))
			sweep_vma(vma, max(start, vma->vm_start), min(end, vma->vm_end), true);
}

/**
 * unmap_sweep_vma_range - as unmap_sweep_range(), with the mmap lock or only the VMA's lock
 * @vma: overlaps the range; locked for reading at least, unless the mmap lock is held
 * @start: start of the range
 * @end: end of the range
 *
 * If no table looks empty, no lock is taken.
 */
void unmap_sweep_vma_range(struct vm_area_struct *vma, unsigned long start,
			   unsigned long end)
{
	if (!unmap_tables_enabled())
		return;
	if (!rwsem_is_locked(&vma->vm_mm->mmap_lock))
		vma_assert_locked(vma);
	sweep_vma(vma, start, end, false);
}
