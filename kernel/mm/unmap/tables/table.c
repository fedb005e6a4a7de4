// SPDX-License-Identifier: GPL-2.0-only
/*
 * One page table: test whether it is empty, and free it.
 *
 * Law 7.  A table is unhooked with the PMD lock and its own lock held, after all of its
 * entries were seen none since its own lock was taken.  The TLB, including page-walk caches,
 * is flushed before the PMD lock is dropped, so that no other table and no huge page is
 * installed while a processor may still walk the old table.  The table is freed after a grace
 * period: lockless walkers (GUP-fast, pte_offset_map()) are RCU readers, and may read the
 * table and take its lock until then.
 *
 * What was seen none under the table's own lock stays none until that lock is dropped:
 *
 * - All code that fills an entry of a table in a PMD holds that lock.  Tables are filled
 *   without it only before they are in a PMD (a huge PMD is split).  GUP-fast and other
 *   lockless walkers do not write.
 * - Hardware sets accessed and dirty only in entries that are present, and tests that in the
 *   same atomic access.  Bits that some processors leave in an entry that is none,
 *   pte_none() ignores.
 *
 * Nor does the table leave its PMD meanwhile: those who take it out hold its lock, too
 * (retract_page_tables(), collapse of files), or the mmap lock for writing, or are
 * free_pgtables().  The PMD lock keeps away those who install something in a PMD that is
 * none, until the flush.
 *
 * The lock order is PMD lock, then page-table lock, as everywhere.  The code that notices
 * an empty table already holds the table's lock.  If the flush would be for this table
 * alone anyway, it tries for the PMD lock: unmap_table_give_back().  Otherwise it only notes
 * the table; the table is freed after that lock was dropped, and other tasks may have filled
 * it again by then.
 *
 * The mmap lock is held, for reading at least, while a table is unhooked.  A task that
 * holds it for writing (fork, mremap(), collapse to a huge page) therefore never loses a
 * table: mremap() can move entries back, because the tables that they came from are still
 * there.  If the caller holds only a file's rmap lock, it tries for the mmap lock without
 * waiting, and holds it only while it holds the PMD lock, so that it is not scheduled away
 * with another process's mmap lock.  On PREEMPT_RT, where it would be, it records the tables of
 * another process.
 *
 * A table that one MADV_DONTNEED empties entirely may go another way: see table_gather.c.
 *
 * No MMU notifier is called: nothing is mapped through an empty table, and the code that
 * cleared its entries has called the notifiers.  flush_tlb_mm_range() and similar functions
 * notify the IOMMUs that walk our tables.
 */
#include <linux/bitops.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

#include <trace/events/unmap.h>

#include "../internal.h"
#include "../stat.h"
#include "table.h"
#include "../window.h"

/**
 * unmap_table_next_used - search entries for one in use
 * @table: its lock is held, or nobody relies on what is found
 * @from: index of the first entry
 * @end: index behind the last
 *
 * Return: the index of the first entry that is not none; @end if all of them are none.
 */
unsigned int unmap_table_next_used(pte_t *table, unsigned int from, unsigned int end)
{
	while (from + 64 <= end && unmap_arch_all_none(table + from, 64))
		from += 64;
	while (from + 4 <= end && unmap_arch_all_none(table + from, 4))
		from += 4;
	while (from < end && pte_none(unmap_arch_peek(table + from)))
		from++;
	return from;
}

/*
 * Index of an entry in use, searched from the watched entry to the end of the table, then
 * from the start; PTRS_PER_PTE if all entries are none.
 */
static unsigned int table_any_used(pte_t *table)
{
	unsigned int watched = unmap_table_watched(table);
	unsigned int i = unmap_table_next_used(table, watched, PTRS_PER_PTE);

	if (i == PTRS_PER_PTE) {
		i = unmap_table_next_used(table, 0, watched);
		if (i == watched)
			i = PTRS_PER_PTE;
	}
	return i;
}

/**
 * unmap_table_noticed - remember when a table was seen empty
 * @table: all of its entries are none, or those at which unmap_table_glance() has looked
 *
 * Stores the time, in ticks, in the bits above the index of the watched entry.  Page-table
 * lock held on entry and return.
 */
void unmap_table_noticed(pte_t *table)
{
	unmap_table_stamp(table, jiffies);
	unmap_count(UNMAP_STAT_TABLES_NOTICED, 1);
}

/*
 * The search of a table has come to entry @i.  If that is @end, all entries are none: returns true.
 * Otherwise it is in use, and watched from now on.
 */
static bool table_saw_none(pte_t *table, unsigned int i, unsigned int end)
{
	if (i == end)
		return true;
	WRITE_ONCE(virt_to_ptdesc(table)->pt_index, i);
	return false;
}

/**
 * unmap_table_look - search a table for another entry in use
 * @table: its watched entry is none
 *
 * Page-table lock held on entry and return.
 *
 * Return: true if the table is empty; otherwise false, and the entry that was found is
 * watched from now on.  False of a table that stays.
 */
bool unmap_table_look(pte_t *table)
{
	if (unmap_table_stays(table) ||
	    !table_saw_none(table, table_any_used(table), PTRS_PER_PTE))
		return false;
	unmap_table_noticed(table);
	return true;
}

/**
 * unmap_table_glance - may a table be empty that is about to be noted or recorded?
 * @mm: of the table
 * @table: its watched entry is none
 *
 * As unmap_table_look(), but a task looks only at the next few entries of its own process's
 * table, because it tries to free the table in a moment, if the policy is to free at once.  That
 * needs a look at all entries (law 7): if one further on is in use, the table stays, and that
 * entry is watched from then on.  Others' tables wait for a worker, or for a shrinker: to wake
 * them for nothing costs more than to look.
 *
 * Page-table lock held on entry and return.
 */
bool unmap_table_glance(struct mm_struct *mm, pte_t *table)
{
	unsigned int watched = unmap_table_watched(table);
	unsigned int end = min_t(unsigned int, watched + TABLE_GLANCE, PTRS_PER_PTE);

	if (mm != current->mm || !unmap_policy_eager() || unmap_table_stays(table))
		return unmap_table_look(table);
	if (!table_saw_none(table, unmap_table_next_used(table, watched, end), end))
		return false;
	unmap_table_noticed(table);
	return true;
}

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
	unsigned int i = table_all_none(table) ? PTRS_PER_PTE : table_any_used(table);

	return table_saw_none(table, i, PTRS_PER_PTE);
}

/*
 * PMD lock and page-table lock held.  If this returns true, the PMD is none, so that code that
 * mapped the table before finds it gone.
 */
static bool table_unhook(struct mm_struct *mm, pmd_t *pmd, pte_t *table, unsigned long age,
			 bool mark)
{
	if (unmap_table_stays(table) || !table_proven_empty(table) || unmap_table_age(table) < age)
		return false;
	unmap_pmd_unhook(mm, pmd, mark);
	return true;
}

/*
 * The tables that are freed together are linked through __page_mapping.  Lockless walkers
 * that still use a table do not read that word.  It must be null when a table is freed.
 */
static void table_chain(struct ptdesc **gone, struct ptdesc *table)
{
	table->__page_mapping = (unsigned long)*gone;
	*gone = table;
}

static struct ptdesc *table_unchain(struct ptdesc *table)
{
	struct ptdesc *next = (struct ptdesc *)table->__page_mapping;

	table->__page_mapping = 0;
	return next;
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

/*
 * Take @lock, which protects @tables of the batch or their PMDs.  Returns false, and notes that
 * they are busy, if it is not free and the task may not wait for it.
 */
static inline bool batch_lock(struct table_batch *batch, unsigned long tables,
			      spinlock_t *lock, unsigned int subclass)
{
	if (unmap_may_wait(batch->vma->vm_mm)) {
		spin_lock_nested(lock, subclass);
		return true;
	}
	if (spin_trylock(lock))
		return true;
	batch->busy |= tables;
	return false;
}

/*
 * PMD lock @pml held on entry and return; the lock of table @i is taken and dropped.  An
 * unhooked table is added to @gone.
 */
static bool batch_unhook_one(struct table_batch *batch, unsigned int i, spinlock_t *pml,
			     unsigned long age, struct ptdesc **gone)
{
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
	if (ptl != pml && !batch_lock(batch, BIT(i), ptl, SINGLE_DEPTH_NESTING))
		return false;
	done = table_unhook(mm, pmd, table, age, batch_leaves_mark(batch, i));
	if (ptl != pml)
		spin_unlock(ptl);
	if (done)
		table_chain(gone, virt_to_ptdesc(table));
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
 * Whether a TLB may still hold translations through the tables, other than those that the
 * gather @own will flush.  A task that has cleared entries but not flushed yet announced
 * its flush before it dropped the tables' locks.  Those locks were taken here since, so that
 * the announcement is visible.  @settled: deferred flushes were made here since then, too.
 */
static bool table_flush_pending(struct mm_struct *mm, const struct mmu_gather *own, bool settled)
{
	if (!settled)
		flush_tlb_batched_pending(mm);
	return own ? mm_tlb_flush_nested(mm) : mm_tlb_flush_pending(mm);
}

/*
 * A flush of any one address in the table's range removes the table from walk caches.  If the
 * gather's range has such an address, the range stays, but the flush must take steps of PMD_SIZE
 * at most: without this call it takes steps of PUD_SIZE if only huge PUDs were cleared.
 */
static void table_gather_cover(struct mmu_gather *tlb, unsigned long table)
{
	unsigned long addr = table;

	if (tlb->start < table + PMD_SIZE && tlb->end > table)
		addr = max(addr, tlb->start);
	tlb_flush_pmd_range(tlb, addr, PAGE_SIZE);
}

/*
 * Flush the tables from walk caches, and from TLBs the translations that other tasks may
 * not have flushed yet, together with what the gather has to flush anyway.  If the gather
 * has cleared entries of the only table, its range already has an address in that table,
 * and it flushes no more than it would without us.  The gather's range is extended to both
 * ends in separate calls: the calls take a size as unsigned int, which the range of a
 * 64 KiB table exceeds.
 */
static __always_inline void table_flush_gather(struct mmu_gather *tlb, unsigned long start,
					       unsigned long end, bool settled)
{
	if (table_flush_pending(tlb->mm, tlb, settled)) {
		tlb_flush_pte_range(tlb, start, PAGE_SIZE);
		tlb_flush_pte_range(tlb, end - PAGE_SIZE, PAGE_SIZE);
	} else {
		table_gather_cover(tlb, start);
		if (end - start > PMD_SIZE)
			table_gather_cover(tlb, end - PMD_SIZE);
	}
	tlb->freed_tables = 1;
	VM_WARN_ON_ONCE(unmap_gather_may_miss(tlb));
	tlb_flush_mmu_tlbonly(tlb);
}

static void table_flush_vma(struct vm_area_struct *vma, unsigned long start,
			    unsigned long end, bool settled)
{
	if (table_flush_pending(vma->vm_mm, NULL, settled))
		flush_tlb_range(vma, start, end);
	else
		unmap_arch_flush_tables(vma, start, end);
}

static __always_inline void table_flush(struct table_batch *batch, unsigned long start,
					unsigned long end, bool settled)
{
	if (batch->tlb)
		table_flush_gather(batch->tlb, start, end, settled);
	else
		table_flush_vma(batch->vma, start, end, settled);
}

/* Laws 7 and 8: no entry may have been installed in a table since it was unhooked. */
static void table_free_rcu(struct rcu_head *head)
{
	struct ptdesc *table = container_of(head, struct ptdesc, pt_rcu_head);
	unsigned int slot = table->pt_index;
	struct ptdesc *next;
	long nr = 0;

	for (; table; table = next, nr++) {
		next = table_unchain(table);
		unmap_table_assert_none(ptdesc_address(table));
		pte_free(NULL, ptdesc_page(table));
	}
	unmap_grace_end(slot, nr);
}

/*
 * One callback frees all tables of the chain.  call_rcu_hurry(), because this much memory
 * should not wait for a lazy grace period (RCU_LAZY).  @slot: of unmap_grace_begin()
 */
static void table_free_chain(struct mm_struct *mm, struct ptdesc *gone, unsigned int nr,
			     unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		mm_dec_nr_ptes(mm);
	unmap_count(UNMAP_STAT_TABLES_FREED, nr);
	/* Unhooked tables have no watched entry: the word is free for the slot. */
	gone->pt_index = slot;
	call_rcu_hurry(&gone->pt_rcu_head, table_free_rcu);
}

/*
 * Law 7: the PMD lock and the table's lock are held, and its entries were seen none under the
 * latter.  Inline: what table_flush_gather() does for more than one table is left out here.
 */
static __always_inline void table_unhook_flush(struct table_batch *batch, pmd_t *pmd,
					       pte_t *table, unsigned long addr, bool whole)
{
	struct mm_struct *mm = batch->vma->vm_mm;

	mmap_assert_locked(mm);
	VM_WARN_ON_ONCE((pte_t *)pmd_page_vaddr(pmdp_get(pmd)) != table);
	unmap_table_assert_none(table);
	unmap_table_assert_unmapped(batch->tlb);
	unmap_pmd_unhook(mm, pmd, !whole && unmap_policy_marks());
	addr &= PMD_MASK;
	table_flush(batch, addr, addr + PMD_SIZE, true);
}

/**
 * unmap_table_give_back - unhook the only table of a pass that is seen empty, and flush it
 * @batch: of the pass
 * @pmd: holds the table
 * @table: all of its entries were seen none since its lock was taken
 * @addr: any address that the table translates
 * @ptl: the table's lock, held on entry and return; since it was taken, deferred flushes were
 *	made (flush_tlb_batched_pending()), so that no TLB needs one for this table
 * @whole: stock would have freed the table, too: see discard_takes_all()
 *
 * The short way, without a second look at the entries and without the table's lock being taken
 * again.  The PMD lock comes before the page-table lock, so it is only tried for.
 *
 * Return: whether the table was unhooked: then call unmap_table_free() without @ptl.
 * Otherwise the caller notes the table.
 */
bool unmap_table_give_back(struct table_batch *batch, pmd_t *pmd, pte_t *table,
			   unsigned long addr, spinlock_t *ptl, bool whole)
{
	struct mm_struct *mm = batch->vma->vm_mm;
	spinlock_t *pml = pmd_lockptr(mm, pmd);

	lockdep_assert_held(ptl);
	if (UNMAP_ARCH_TABLES_PINNED || batch->empty || !batch->mmap_locked ||
	    !unmap_policy_eager())
		return false;
	if (ptl != pml && !spin_trylock(pml))
		return false;
	batch->slot = unmap_table_stays(table) ? -1 : unmap_grace_try_begin(mm);
	if (batch->slot >= 0)
		table_unhook_flush(batch, pmd, table, addr, whole);
	if (ptl != pml)
		spin_unlock(pml);
	return batch->slot >= 0;
}

/**
 * unmap_table_free - free a page table after a grace period
 * @batch: of the pass that has unhooked it
 * @table: unhooked by unmap_table_give_back()
 * @addr: any address that the table translated
 *
 * No page-table lock and no PMD lock is held.
 */
void unmap_table_free(const struct table_batch *batch, pte_t *table, unsigned long addr)
{
	struct mm_struct *mm = batch->vma->vm_mm;
	struct ptdesc *gone = NULL;

	table_chain(&gone, virt_to_ptdesc(table));
	table_free_chain(mm, gone, 1, batch->slot);
	trace_table_free(mm, addr & PMD_MASK, batch->by);
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
		table_flush(batch, start, end, false);
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
 * mmap lock is not tried for, and of its tables those whose locks are not free are left, and
 * noted as busy.
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
	if (!batch_lock(batch, batch->empty, pml, 0)) {
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
		table_free_chain(mm, gone, nr, unmap_grace_begin(mm, nr));
	if (locked) {
		batch_trace(batch);
		unmap_batch_forget(batch);
	}
	return nr;
}
