// SPDX-License-Identifier: GPL-2.0-only
/*
 * Free neighbouring page tables together, or unhook one for an mmu_gather: see table.c for the law.
 *
 * The tables of a batch were seen empty, and their locks were dropped since, so that each is
 * looked at again.  One hold of the PMD lock and one TLB flush serve all of them.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>

#include <asm/tlb.h>

#include <trace/events/unmap.h>

#include "../internal.h"
#include "../window.h"
#include "policy.h"
#include "table.h"
#include "table_free.h"

/*
 * Whether all entries are none.  Cheaper than a search for the entry that is in use; where the
 * architecture cannot tell, false.
 */
static bool table_all_none(pte_t *table)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i += 64)
		if (!unmap_arch_all_none(table + i, 64))
			return false;
	return true;
}

/* The proof that law 7 demands: PMD lock and page-table lock are held. */
static bool table_proven_empty(pte_t *table)
{
	return table_all_none(table) || unmap_table_search(table);
}

/*
 * Whether a table of the batch may go now.  If it is in use, it waits no more; if it has been empty
 * for too short a time, it waits on.  PMD lock and page-table lock held.
 */
static bool table_may_go(struct mm_struct *mm, pte_t *table, unsigned long addr, unsigned long age)
{
	if (unmap_table_stays(table) || !table_proven_empty(table)) {
		unmap_table_wait_no_more(mm, table);
		return false;
	}
	if (unmap_table_age(table) >= age)
		return true;
	unmap_table_wait_on(mm, table, addr);
	return false;
}

/* Law 11: whether the PMD of table @i gets a mark. */
static bool batch_leaves_mark(const struct table_batch *batch, unsigned int i)
{
	return unmap_policy_marks() && !(batch->whole & BIT(i));
}

/*
 * Others have freed table @i since this task saw it empty.  They may have emptied only a part of
 * it, and so have left a mark, which a MADV_DONTNEED of the whole table removes.  PMD lock held.
 */
static void batch_forget_mark(const struct table_batch *batch, unsigned int i)
{
	pmd_t *pmd = batch->pmd + i;

	if (batch->whole & BIT(i) && unmap_pmd_marked(pmdp_get(pmd)))
		pmd_clear(pmd);
}

/* Take a lock of tables or PMDs.  Returns false if it is not free and the task must not wait. */
static inline bool batch_lock(const struct table_batch *batch, spinlock_t *lock,
			      unsigned int subclass)
{
	if (!unmap_may_wait(batch->vma->vm_mm))
		return spin_trylock(lock);
	spin_lock_nested(lock, subclass);
	return true;
}

/*
 * PMD lock @pml held on entry and return; the lock of table @i is taken and dropped.  An
 * unhooked table is added to @gone.
 */
static bool batch_unhook_one(struct table_batch *batch, unsigned int i, spinlock_t *pml,
			     unsigned long age, struct ptdesc **gone)
{
	unsigned long addr = batch->addr + i * PMD_SIZE;
	struct mm_struct *mm = batch->vma->vm_mm;
	pmd_t *pmd = batch->pmd + i;
	spinlock_t *ptl;	/* the table's own */
	pte_t *table;
	bool done;

	lockdep_assert_held(pml);
	unmap_table_assert_unmapped(batch->tlb);
	if (!unmap_is_table(pmd)) {
		batch_forget_mark(batch, i);
		return false;
	}
	table = (pte_t *)pmd_page_vaddr(pmdp_get(pmd));
	ptl = ptep_lockptr(mm, table);
	if (ptl != pml && !batch_lock(batch, ptl, SINGLE_DEPTH_NESTING))
		return false;
	done = table_may_go(mm, table, addr, age);
	if (done)
		unmap_pmd_unhook(mm, pmd, batch_leaves_mark(batch, i));
	if (ptl != pml)
		spin_unlock(ptl);
	if (done) {
		unmap_table_chain(gone, virt_to_ptdesc(table));
		unmap_ghost_leave(mm, addr);
	}
	return done;
}

/**
 * unmap_table_unhook - unhook a page table without a mark, if it is empty
 * @tlb: gets the table; owes no rmap removal
 * @vma: contains all that the table maps; of the calling process
 * @pmd: its lock and that of the table are taken and dropped
 *
 * For a table that the caller hands to an mmu_gather; locks as in unmap_table_may_be_gathered().
 *
 * Return: the table; null if there is none, or it is in use.
 */
pte_t *unmap_table_unhook(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmd)
{
	struct table_batch one = { .vma = vma, .tlb = tlb, .pmd = pmd, .whole = BIT(0) };
	struct ptdesc *gone = NULL;
	spinlock_t *pml;	/* of @pmd */

	if (!IS_ENABLED(CONFIG_UNMAP_GATHER_TABLES))
		return NULL;
	unmap_window();		/* other tasks may fill or free the table */
	pml = pmd_lock(vma->vm_mm, pmd);
	batch_unhook_one(&one, 0, pml, 0, &gone);
	spin_unlock(pml);
	return gone ? ptdesc_address(gone) : NULL;
}

/*
 * PMD lock @pml held on entry and return.  Unhooked tables are added to @gone, and have
 * been flushed from all TLBs; the batch has no others on return.  Returns how many there are.
 */
static unsigned int batch_unhook(struct table_batch *batch, spinlock_t *pml,
				 unsigned long age, struct ptdesc **gone)
{
	unsigned long start = ULONG_MAX, end = 0;
	unsigned int i, nr = 0;

	for_each_set_bit(i, &batch->empty, TABLE_BATCH) {
		unsigned long addr = batch->addr + i * PMD_SIZE;

		if (UNMAP_ARCH_TABLES_PINNED || !batch_unhook_one(batch, i, pml, age, gone)) {
			__clear_bit(i, &batch->empty);
			continue;
		}
		start = min(start, addr);
		end = addr + PMD_SIZE;
		nr++;
	}
	if (nr)
		unmap_table_flush(batch, start, end);
	return nr;
}

/*
 * Law 7: make sure that the mmap lock is held.  Returns false if it cannot be had at once.
 * @taken is set if it was taken here, so that our caller drops it.  The PMD lock is held, so
 * that the task is not scheduled away with another process's mmap lock.
 */
static bool batch_lock_mmap(const struct table_batch *batch, bool *taken)
{
	*taken = false;
	if (batch->mmap_locked) {
		mmap_assert_locked(batch->vma->vm_mm);
		return true;
	}
	*taken = mmap_read_trylock(batch->vma->vm_mm);
	return *taken;
}

/*
 * The tables of the batch were unhooked and counted, so that who sees an event finds it
 * counted.  No page-table lock and no PMD lock is held.
 */
static void batch_trace(const struct table_batch *batch)
{
	unsigned int i;

	if (!trace_table_free_enabled())
		return;
	for_each_set_bit(i, &batch->empty, TABLE_BATCH)
		trace_table_free(batch->vma->vm_mm, batch->addr + i * PMD_SIZE, batch->by);
}

/**
 * unmap_batch_free - free the tables of a batch that are still empty
 * @batch: tables that were seen empty; holds those on return that may be free later
 * @age: skip tables that were seen empty less than this many ticks ago
 *
 * The caller keeps free_pgtables() away from the tables: it holds the mmap lock, and a VMA
 * overlaps them, or it holds the rmap lock of such a VMA.  PMD lock and page-table locks
 * are taken and dropped.  Unless @batch says that the mmap lock is held, it is tried for;
 * if that fails, the batch keeps its tables.  On PREEMPT_RT another process's
 * mmap lock is not tried for, and of its tables those whose locks are not free are left.
 *
 * Return: how many tables were unhooked; they are freed after a grace period.
 */
unsigned int unmap_batch_free(struct table_batch *batch, unsigned long age)
{
	struct mm_struct *mm = batch->vma->vm_mm;
	spinlock_t *pml = pmd_lockptr(mm, batch->pmd);	/* for all PMDs of the batch */
	struct ptdesc *gone = NULL;
	unsigned int nr = 0;
	bool locked, taken;

	if (!batch->mmap_locked && !unmap_may_wait(mm))
		return 0;
	/* Other tasks may have filled or freed the tables since they were seen empty. */
	unmap_window();
	if (!batch_lock(batch, pml, 0)) {
		unmap_batch_forget(batch);
		return 0;
	}
	locked = batch_lock_mmap(batch, &taken);
	if (locked)
		nr = batch_unhook(batch, pml, age, &gone);
	if (taken)
		mmap_read_unlock(mm);
	spin_unlock(pml);
	if (nr)
		unmap_table_free_chain(mm, gone, nr, unmap_grace_begin(mm, nr));
	if (locked) {
		batch_trace(batch);
		unmap_batch_forget(batch);
	}
	return nr;
}
