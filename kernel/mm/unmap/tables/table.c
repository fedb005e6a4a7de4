// SPDX-License-Identifier: GPL-2.0-only
/*
 * The law of page tables; unhook, flush and free one.  table_look.c tests whether a table is empty,
 * table_batch.c frees tables that were noted.
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
 * the table; unmap_batch_free() frees it after that lock was dropped, and other tasks may have
 * filled it again by then.
 *
 * The mmap lock is held, for reading at least, while a table is unhooked.  A task that holds it
 * for writing (fork, mremap(), collapse to a huge page) therefore never loses a table: mremap()
 * can move entries back, because the tables that they came from are still there.  If the caller
 * holds only a file's rmap lock, unmap_batch_free() tries for the mmap lock without waiting, and
 * holds it only while it holds the PMD lock, so that it is not scheduled away with another
 * process's mmap lock.  On PREEMPT_RT, where it would be, the tables of another process wait: see
 * tables_wait.c.
 *
 * A table that one MADV_DONTNEED empties entirely may go another way: see table_gather.c.
 *
 * No MMU notifier is called: nothing is mapped through an empty table, and the code that
 * cleared its entries has called the notifiers.  flush_tlb_mm_range() and similar functions
 * notify the IOMMUs that walk our tables.
 */
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
#include "policy.h"
#include "table.h"
#include "table_free.h"

static struct ptdesc *table_unchain(struct ptdesc *table)
{
	struct ptdesc *next = (struct ptdesc *)table->__page_mapping;

	table->__page_mapping = 0;
	return next;
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

/**
 * unmap_table_flush - flush page tables from the walk caches of all processors
 * @batch: has unhooked them; a gather that it has is flushed with them
 * @start: the first address that they translate
 * @end: the address behind the last
 *
 * Translations through them that other tasks have not flushed yet go, too.  The PMD lock is held
 * on entry and return.
 */
void unmap_table_flush(struct table_batch *batch, unsigned long start, unsigned long end)
{
	table_flush(batch, start, end, false);
}

/* Laws 7 and 8: no entry may have been installed in a table since it was unhooked. */
static void table_free_rcu(struct rcu_head *head)
{
	struct ptdesc *table = container_of(head, struct ptdesc, pt_rcu_head);
	unsigned int slot = table->pt_index;
	struct ptdesc *next;
	long nr = 0;

	table->pt_index = 0;		/* as in unmap_table_leave() */
	for (; table; table = next, nr++) {
		next = table_unchain(table);
		unmap_table_assert_none(ptdesc_address(table));
		pte_free(NULL, ptdesc_page(table));
	}
	unmap_grace_end(slot, nr);
}

/**
 * unmap_table_free_chain - free tables after one grace period
 * @mm: had them
 * @gone: of unmap_table_chain(); were unhooked and flushed
 * @nr: how many there are
 * @slot: of unmap_grace_begin()
 *
 * One callback frees all of them.  call_rcu_hurry(), because this much memory should not wait for
 * a lazy grace period (RCU_LAZY).
 */
void unmap_table_free_chain(struct mm_struct *mm, struct ptdesc *gone, unsigned int nr,
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
	unmap_ghost_leave(mm, addr);
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

	unmap_table_chain(&gone, virt_to_ptdesc(table));
	unmap_table_free_chain(mm, gone, 1, batch->slot);
	trace_table_free(mm, addr & PMD_MASK, batch->by);
}
