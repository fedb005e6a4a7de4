// SPDX-License-Identifier: GPL-2.0-only
/*
 * No surprise (law 11): what a later fault gets is what it would have got, had the page
 * table stayed.
 *
 * A table that goes makes its memory look untouched, and with transparent huge pages
 * the next touch would take a huge page: 2 MiB for each page that an allocator comes back
 * for.  So a mark stays in the PMD.
 *
 * Left		when a table is given back, but for what one MADV_DONTNEED has discarded
 *		entirely, and with the policy "huge"
 * Heeded	by faults that could install something huge
 * Taken along	by mremap(), as a table would be, and by fork(), after stock's copy of each
 *		VMA: __unmap_pmds_fork()
 * Removed	by free_pgtables(), when no VMA is left there; by MADV_DONTNEED of all of it;
 *		where khugepaged would have removed the table; by whatever is installed
 *
 * PMD lock, where anything else could be installed.  Those who look do not take it, and see
 * the entry with its mark, or the table before.
 */
#include <linux/bits.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/unmap.h>

#include "internal.h"

/* A child without marks is not to look for any: mmf_init_flags(). */
static_assert(!(MMF_INIT_MASK & BIT(MMF_UNMAP_MARKED)));

/*
 * PMD lock held, and the mmap lock, so that fork(), which has it for writing, sees the flag
 * wherever it may find a mark.
 */
static void mark_leave(struct mm_struct *mm, pmd_t *pmd)
{
	unmap_mm_set_marked(mm);
	set_pmd(pmd, unmap_marked_pmd());
	VM_WARN_ON_ONCE(!pmd_none(pmdp_get(pmd)));
}

/* In place of nothing, if that is what is there: whatever else is there is more. */
static void mark_leave_if_none(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *pml = pmd_lock(mm, pmd);

	if (pmd_none(pmdp_get(pmd)))
		mark_leave(mm, pmd);
	spin_unlock(pml);
}

/**
 * unmap_pmd_unhook - take a page table out of its PMD
 * @mm: of the table; its mmap lock is held, for reading at least
 * @pmd: its lock is held, and that of the table
 * @mark: leave a mark
 */
void unmap_pmd_unhook(struct mm_struct *mm, pmd_t *pmd, bool mark)
{
	if (!mark)
		pmd_clear(pmd);
	else
		mark_leave(mm, pmd);
}

/**
 * __unmap_pmd_forget - remove a mark
 * @mm: of the PMD
 * @pmd: its lock is taken and dropped; it cannot be freed
 */
void __unmap_pmd_forget(struct mm_struct *mm, pmd_t *pmd)
{
	spinlock_t *pml = pmd_lock(mm, pmd);

	if (unmap_pmd_marked(pmdp_get(pmd)))
		pmd_clear(pmd);
	spin_unlock(pml);
}

/**
 * __unmap_pmd_move - a mark goes where the table would have gone
 * @mm: of both; its lock is held for writing
 * @from: marked
 * @to: has nothing huge
 * @whole: all of what @from stands for goes there
 *
 * The lock of both PMDs is taken and dropped, one after the other.
 */
void __unmap_pmd_move(struct mm_struct *mm, pmd_t *from, pmd_t *to, bool whole)
{
	mark_leave_if_none(mm, to);
	if (whole)
		__unmap_pmd_forget(mm, from);
}

/*
 * One page of the parent's PMDs.  Stock has made a page of PMDs in the child wherever the
 * parent had one.  The child has none if memory ran out, and it will never run then; or if a
 * fault in a neighbouring VMA gave the parent its page after this VMA was copied.
 *
 * The parent's PUD is read once: a page of PMDs stays while the mmap lock is held, but a
 * huge PUD (of a device) can be zapped at any time, under the file's rmap lock.
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
 * __unmap_pmds_fork - a child has marks where it would have had tables
 * @child: the child's VMA; nothing of it runs yet
 * @parent: its original, write-locked, whose page tables were copied; it is not hugetlb's
 *
 * Stock makes a table in the child for each table of the parent's that this VMA reaches
 * into, also for an empty one; and none at all for a VMA whose pages faults bring back
 * (vma_needs_copy()).  For such a one we are not called.
 *
 * The parent gets no mark meanwhile, since fork() holds its mmap lock for writing.  It can
 * lose one to a fault in a neighbouring VMA that is not locked yet; a PMD that two VMAs share
 * cannot be huge, so that the mark does not matter there.  The child's PMD locks are taken
 * because rmap finds the child's VMAs already.
 */
void __unmap_pmds_fork(struct vm_area_struct *child, struct vm_area_struct *parent)
{
	mmap_assert_write_locked(child->vm_mm);
	walk_page_vma(parent, &fork_ops, child->vm_mm);
}
