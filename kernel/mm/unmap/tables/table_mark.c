// SPDX-License-Identifier: GPL-2.0-only
/*
 * No surprise (law 11): a later fault gets what stock of the same kernel would give, which is
 * mostly what it would have got if the page table had stayed.
 *
 * After a table is freed its memory looks untouched, and with transparent huge pages the
 * next touch would take a huge page: 2 MiB for each single page that an allocator uses
 * again.  So a mark stays in the PMD.
 *
 * Set		when a table is freed, except where stock frees it, too (since 6.18: a single
 *		MADV_DONTNEED has discarded all that it mapped), or the policy is "huge"
 * Honoured	by faults that could install a huge page
 * Moved	by mremap(), as a table would be
 * Copied	by fork(), after stock has copied the VMA: __unmap_pmds_fork()
 * Removed	by free_pgtables(), when no VMA is left there; since 6.18 by a MADV_DONTNEED
 *		that covers the whole PMD; where khugepaged would have removed the table
 * Overwritten	by any entry that is installed
 *
 * Marks are written with the PMD lock held wherever another task could install an entry.
 * Readers do not take that lock: they see the PMD with the table, or with the mark.
 */
#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/unmap.h>

#include "../internal.h"
#include "table.h"
#include "../window.h"

/* fork() must not inherit the flag, since a child begins without marks: mmf_init_flags(). */
static_assert(!(UNMAP_MMF_INHERITED & BIT(MMF_UNMAP_MARKED)));

/*
 * PMD lock and mmap lock held.  Because fork() holds the mmap lock for writing, it sees the
 * flag set whenever there can be a mark.
 */
static void mark_leave(struct mm_struct *mm, pmd_t *pmd)
{
	unmap_mm_set_marked(mm);
	set_pmd(pmd, unmap_marked_pmd());
	VM_WARN_ON_ONCE(!pmd_none(pmdp_get(pmd)));
}

/* Set a mark if the PMD is none: a table or a huge page there needs no mark. */
static void mark_leave_if_none(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *pml = pmd_lock(mm, pmd);

	if (pmd_none(pmdp_get(pmd)))
		mark_leave(mm, pmd);
	spin_unlock(pml);
}

/**
 * unmap_pmd_unhook - take a page table out of its PMD
 * @mm: of the table; its mmap lock is held, for reading at least, if a mark is left
 * @pmd: holds the table; PMD lock and page-table lock are held
 * @mark: leave a mark in the PMD
 *
 * The table leaves the list if it waits (law 17).
 */
void unmap_pmd_unhook(struct mm_struct *mm, pmd_t *pmd, bool mark)
{
	pgtable_t table = pmd_pgtable(pmdp_get(pmd));

	unmap_window();	/* for readers that will find the table gone */
	if (!mark)
		pmd_clear(pmd);
	else
		mark_leave(mm, pmd);
	unmap_table_leave(mm, table);
	unmap_window();	/* for those who find no table, and so do not wait for its lock */
}

/**
 * __unmap_pmd_forget - remove a mark from a PMD, if it has one
 * @mm: of the PMD
 * @pmd: its lock is taken and dropped; the caller keeps the page of PMDs from being freed
 */
void __unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *pml = pmd_lock(mm, pmd);

	if (unmap_pmd_marked(pmdp_get(pmd)))
		pmd_clear(pmd);
	spin_unlock(pml);
}

/**
 * __unmap_pmds_forget - remove the marks of all PMDs that lie wholly in a range
 * @mm: of the PMDs
 * @pud: the range's PUD entry, which holds a page of PMDs
 * @addr: the range's first address
 * @end: its end, below the same PUD
 *
 * PMD locks are taken and dropped; the caller keeps the page of PMDs from being freed.
 */
void __unmap_pmds_forget(struct mm_struct *mm, pud_t *pud, unsigned long addr,
			 unsigned long end)
{
	for (addr = ALIGN(addr, PMD_SIZE); addr + PMD_SIZE <= end; addr += PMD_SIZE)
		unmap_pmd_forget(mm, pmd_offset(pud, addr));
}

/**
 * unmap_pmd_refilled - allocate the page table again where one was freed
 * @mm: of the PMD; its mmap lock is held, for reading at least
 * @pmd: was found none; may be null
 *
 * For MADV_COLLAPSE, which treats an empty table and a missing one differently.
 *
 * One read of the PMD finds the mark or the table: between two reads the table could be freed
 * once more.  If it is freed after that read, MADV_COLLAPSE comes here again.
 *
 * Return: whether the PMD held a table; false if none was freed there, if it holds a huge page,
 * or if there is no memory.
 */
bool unmap_pmd_refilled(struct mm_struct *mm, pmd_t *pmd)
{
	pmd_t pmdval;

	mmap_assert_locked(mm);
	if (!pmd)
		return false;
	for (;;) {
		pmdval = pmdp_get_lockless(pmd);
		if (!unmap_pmd_marked(pmdval))
			return unmap_pmdval_is_table(pmdval);
		if (pte_alloc(mm, pmd))
			return false;
	}
}

/**
 * unmap_refilled_at - as unmap_pmd_refilled(), for the PMD of an address
 * @mm: its mmap lock is held, for reading at least
 * @addr: an address that the table translates
 */
bool unmap_refilled_at(struct mm_struct *mm, unsigned long addr)
{
	return unmap_pmd_refilled(mm, mm_find_pmd(mm, addr));
}

/**
 * __unmap_pmd_move - move a mark where mremap() would have moved the table
 * @mm: of both PMDs; its mmap lock is held for writing
 * @from: a marked PMD
 * @to: the target, which holds no huge page
 * @whole: the whole range of @from is moved to @to, so that @from loses its mark
 *
 * The locks of both PMDs are taken and dropped, one after the other.
 */
void __unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to, bool whole)
{
	mark_leave_if_none(mm, to);
	if (whole)
		__unmap_pmd_forget(mm, from);
}

/*
 * Copy the marks of one of the parent's pages of PMDs.  Stock has allocated a page of PMDs
 * in the child wherever the parent had one.  The child has none in two cases: memory ran
 * out, and then the child never runs; or a fault in a neighbouring VMA gave the parent its
 * page of PMDs after this VMA was copied.
 *
 * The parent's PUD is read once: a page of PMDs stays while the mmap lock is held, but a
 * huge PUD (of a device) can be zapped at any time under the file's rmap lock.
 */
static int mark_fork_pmds(pud_t *pud, unsigned long addr, unsigned long end,
			  struct mm_walk *walk)
{
	struct mm_struct *child = walk->private;
	pud_t pudval = pudp_get(pud);
	pmd_t *from, *to;

	if (!pud_present(pudval) || pud_leaf(pudval))
		return 0;
	to = mm_find_pmd(child, addr);
	if (!to)
		return 0;
	for (from = pmd_offset(pud, addr); addr != end; from++, to++) {
		if (unmap_pmd_marked(pmdp_get_lockless(from)))
			mark_leave_if_none(child, to);
		addr = pmd_addr_end(addr, end);
	}
	cond_resched();
	return 0;
}

static const struct mm_walk_ops fork_ops = {
	.pud_entry = mark_fork_pmds,
	.walk_lock = PGWALK_WRLOCK_VERIFY,
};

/**
 * __unmap_pmds_fork - give a child marks where it would have had tables
 * @child: the child's VMA; the child does not run yet
 * @parent: the VMA it was copied from, write-locked, not hugetlb; its page tables were copied
 *
 * Stock allocates a table in the child for each of the parent's tables that this VMA
 * reaches into, even for an empty one, but allocates none for a VMA whose pages faults bring
 * back (vma_needs_copy()).  For such a VMA this function is not called.
 *
 * The parent gets no new marks meanwhile, since fork() holds its mmap lock for writing.  It
 * can lose a mark to a fault in a neighbouring VMA that is not locked yet.  A PMD that two
 * VMAs share cannot be huge, so that its mark does not matter.  The child's PMD locks are
 * taken because rmap walks already find the child's VMAs.
 */
void __unmap_pmds_fork(struct vm_area_struct *child, struct vm_area_struct *parent)
{
	mmap_assert_write_locked(child->vm_mm);
	walk_page_vma(parent, &fork_ops, child->vm_mm);
}
