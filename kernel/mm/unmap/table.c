// SPDX-License-Identifier: GPL-2.0-only
/*
 * One page table: is it empty, and giving it back.
 *
 * Law 7.  A table is unhooked with the PMD lock and its own lock held, after all of
 * its entries were seen none inside both.  The TLB, page-walk caches and all, is
 * flushed before the PMD lock is dropped, so that nobody can put another table or a
 * huge page in its place while a processor may still go through the old one.  The
 * page is freed after a grace period: lockless walkers (GUP-fast, pte_offset_map())
 * are readers of RCU, and may look at the table, and take its lock, until then.
 *
 * One lock order: PMD lock, then page-table lock, as everywhere.  Who notices an
 * empty table holds its lock already; so it is only noted, and given back after that
 * lock was dropped, when others may have filled it again.
 *
 * The mmap lock is held, for reading at least, while a table is unhooked.  Whoever holds
 * it for writing (fork, mremap(), collapse to a huge page) therefore never loses a
 * table: mremap() can put back what it has moved, because the tables it took the
 * entries from are still there.  Where the caller has only a file's rmap lock, the mmap lock
 * is tried, not waited for, and only for as long as the PMD lock is held: nobody is
 * scheduled away with another process's lock.
 *
 * No notifier is called: nothing is mapped through the table, and what was had its
 * own.  flush_tlb_mm_range() and its like tell the IOMMUs that walk our tables.
 */
#include <linux/bitops.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>

#include <asm/pgalloc.h>
#include <asm/tlb.h>

#include "internal.h"
#include "table.h"

/* The first entry in use from @from on, before @end; @end if all are none. */
static unsigned int table_next_used(pte_t *table, unsigned int from, unsigned int end)
{
	while (from + 64 <= end && unmap_arch_all_none(table + from, 64))
		from += 64;
	while (from + 4 <= end && unmap_arch_all_none(table + from, 4))
		from += 4;
	while (from < end && pte_none(ptep_get(table + from)))
		from++;
	return from;
}

/* Once around the table, beginning at the watched entry; PTRS_PER_PTE: all are none. */
static unsigned int table_any_used(pte_t *table)
{
	unsigned int watched = unmap_table_watched(table);
	unsigned int i = table_next_used(table, watched, PTRS_PER_PTE);

	if (i == PTRS_PER_PTE) {
		i = table_next_used(table, 0, watched);
		if (i == watched)
			i = PTRS_PER_PTE;
	}
	return i;
}

/**
 * unmap_table_noticed - a table was seen empty
 * @table: all of its entries are none
 *
 * It remembers when, in whole ticks, in the bits above the watched entry.  Page-table
 * lock held on entry and return.
 */
void unmap_table_noticed(pte_t *table)
{
	WRITE_ONCE(virt_to_ptdesc(table)->pt_index,
		   jiffies * PTRS_PER_PTE + unmap_table_watched(table));
	unmap_count(UNMAP_STAT_TABLES_NOTICED, 1);
}

/* For how many ticks the table has been known to be empty; any number if it is not. */
static unsigned long table_age(pte_t *table)
{
	unsigned long seen = READ_ONCE(virt_to_ptdesc(table)->pt_index) / PTRS_PER_PTE;

	return (jiffies - seen) % (ULONG_MAX / PTRS_PER_PTE + 1);
}

/**
 * unmap_table_look - look for another entry in use
 * @table: its watched entry is none
 *
 * Page-table lock held on entry and return.
 *
 * Return: true if there is none; otherwise the one found is watched.
 */
bool unmap_table_look(pte_t *table)
{
	unsigned int i = table_any_used(table);

	if (i == PTRS_PER_PTE) {
		unmap_table_noticed(table);
		return true;
	}
	WRITE_ONCE(virt_to_ptdesc(table)->pt_index, i);
	return false;
}

/* With both locks held: law 7's proof. */
static bool table_proven_empty(pte_t *table)
{
	unsigned int i = table_any_used(table);

	if (i == PTRS_PER_PTE)
		return true;
	WRITE_ONCE(virt_to_ptdesc(table)->pt_index, i);
	return false;
}

/* True: the PMD is none now, and the table marked for those who come late. */
static bool table_unhook(struct mm_struct *mm, pmd_t *pmd, pte_t *table, unsigned long age,
			 bool mark)
{
	if (!table_proven_empty(table) || table_age(table) < age)
		return false;
	unmap_window();	/* for readers who will find it gone */
	unmap_pmd_unhook(mm, pmd, mark);
	unmap_table_set_gone(table);
	return true;
}

/*
 * Tables that go together, each with the next in a word that must be null when it is
 * freed.  Nobody who comes late looks there.
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

/* PMD lock @pml held; the table's lock is taken and dropped. */
static bool table_lock_and_unhook(struct mm_struct *mm, pmd_t *pmd, spinlock_t *pml,
				  unsigned long age, bool mark, struct ptdesc **gone)
{
	spinlock_t *ptl;	/* the table's own */
	pte_t *table;
	bool done;

	lockdep_assert_held(pml);
	if (UNMAP_ARCH_TABLES_PINNED || !unmap_is_table(pmd))
		return false;
	table = (pte_t *)pmd_page_vaddr(pmdp_get(pmd));
	ptl = ptep_lockptr(mm, table);
	if (ptl != pml)
		spin_lock_nested(ptl, SINGLE_DEPTH_NESTING);
	done = table_unhook(mm, pmd, table, age, mark);
	if (ptl != pml)
		spin_unlock(ptl);
	if (done)
		table_chain(gone, virt_to_ptdesc(table));
	return done;
}

/*
 * Whether translations that go through the tables may still be in a TLB, but for what
 * @own gather will flush.  Whoever cleared the entries and has not flushed yet said so
 * before he took the tables' locks, which were taken here since.
 */
static bool table_flush_pending(struct mm_struct *mm, const struct mmu_gather *own)
{
	flush_tlb_batched_pending(mm);
	return own ? mm_tlb_flush_nested(mm) : mm_tlb_flush_pending(mm);
}

static bool table_gather_covers(const struct mmu_gather *tlb, unsigned long table)
{
	return tlb->start < table + PMD_SIZE && tlb->end > table;
}

/* One address in a table makes walk caches forget it. */
static void table_gather_cover(struct mmu_gather *tlb, unsigned long table)
{
	if (!table_gather_covers(tlb, table))
		tlb_flush_pmd_range(tlb, table, PAGE_SIZE);
}

/*
 * Walk caches forget the tables, and TLBs what others may not have flushed; with it
 * goes what the gather has to flush anyway.  A gather that has cleared entries of the
 * only table has an address in it, and flushes no more than it would without us.  Its
 * range is widened from both of its ends: it takes sizes as unsigned int, which
 * tables of 64 KiB exceed.
 */
static void table_flush_gather(struct mmu_gather *tlb, unsigned long start,
			       unsigned long end)
{
	if (table_flush_pending(tlb->mm, tlb)) {
		tlb_flush_pte_range(tlb, start, PAGE_SIZE);
		tlb_flush_pte_range(tlb, end - PAGE_SIZE, PAGE_SIZE);
	} else {
		table_gather_cover(tlb, start);
		table_gather_cover(tlb, end - PMD_SIZE);
	}
	tlb->freed_tables = 1;
	tlb_flush_mmu_tlbonly(tlb);
}

static void table_flush_vma(struct vm_area_struct *vma, unsigned long start,
			    unsigned long end)
{
	if (table_flush_pending(vma->vm_mm, NULL))
		flush_tlb_range(vma, start, end);
	else
		unmap_arch_flush_tables(vma, start, end);
}

static void table_flush(struct table_batch *batch, unsigned long start,
			unsigned long end)
{
	if (batch->tlb)
		table_flush_gather(batch->tlb, start, end);
	else
		table_flush_vma(batch->vma, start, end);
}

/* Laws 7 and 8: nobody has put anything into a table since it was unhooked. */
static void table_free_rcu(struct rcu_head *head)
{
	struct ptdesc *table = container_of(head, struct ptdesc, pt_rcu_head);
	unsigned int slot = table->pt_index;
	struct ptdesc *next;
	long nr = 0;

	for (; table; table = next, nr++) {
		next = table_unchain(table);
		VM_WARN_ON_ONCE(table_any_used(ptdesc_address(table)) != PTRS_PER_PTE);
		pte_free(NULL, ptdesc_page(table));
	}
	unmap_grace_end(slot, nr);
}

/* One callback for all of them; so much memory does not wait for RCU to be idle (RCU_LAZY). */
static void table_free_chain(struct mm_struct *mm, struct ptdesc *gone, unsigned int nr)
{
	unsigned int i;

	if (!nr)
		return;
	for (i = 0; i < nr; i++)
		mm_dec_nr_ptes(mm);
	unmap_count(UNMAP_STAT_TABLES_FREED, nr);
	/* Nobody has an entry to watch there any more. */
	gone->pt_index = unmap_grace_begin(mm, nr);
	call_rcu_hurry(&gone->pt_rcu_head, table_free_rcu);
}

/* Law 11. */
static bool batch_leaves_mark(const struct table_batch *batch, unsigned int i)
{
	return unmap_policy_marks() && !(batch->whole & BIT(i));
}

/* PMD lock @pml held.  What was unhooked is in @gone, and forgotten by all TLBs. */
static unsigned int batch_unhook(struct table_batch *batch, spinlock_t *pml,
				 unsigned long age, struct ptdesc **gone)
{
	unsigned long start = ULONG_MAX, end = 0;
	unsigned int i, nr = 0;

	for_each_set_bit(i, &batch->noted, TABLE_BATCH) {
		unsigned long addr = batch->addr + i * PMD_SIZE;

		if (!table_lock_and_unhook(batch->vma->vm_mm, batch->pmd + i, pml, age,
					   batch_leaves_mark(batch, i), gone))
			continue;
		start = min(start, addr);
		end = addr + PMD_SIZE;
		nr++;
	}
	if (nr)
		table_flush(batch, start, end);
	return nr;
}

/*
 * Law 7: whether the mmap lock is held now, and by whom: @taken, if it is to be dropped.  PMD
 * lock held, so that we are not scheduled away with somebody's mmap lock.
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

/* For later: none is noted on return. */
static void batch_keep(struct table_batch *batch)
{
	unsigned long start = batch->addr + __ffs(batch->noted) * PMD_SIZE;
	unsigned long end = batch->addr + (__fls(batch->noted) + 1) * PMD_SIZE;

	unmap_kept_add(batch->vma->vm_mm, start, end, hweight_long(batch->noted));
	batch->noted = 0;
	batch->whole = 0;
}

/**
 * unmap_batch_free - give back the tables of a batch that are empty
 * @batch: the tables, seen empty before; none on return
 * @age: spare those that have not been known to be empty for so many ticks
 *
 * The mmap lock with a VMA that overlaps them, or the rmap lock of such a VMA, keeps
 * free_pgtables() away from them.  PMD lock and page-table locks are taken and dropped.
 * Unless @batch says that the mmap lock is held, it is tried; if it is not to be had,
 * the tables are written down for later.
 *
 * Return: how many were given back.
 */
unsigned int unmap_batch_free(struct table_batch *batch, unsigned long age)
{
	struct mm_struct *mm = batch->vma->vm_mm;
	struct ptdesc *gone = NULL;
	unsigned int nr = 0;
	spinlock_t *pml;		/* of all PMDs of the batch */
	bool locked, taken;

	/* Since they were seen empty, others may have filled or taken them. */
	unmap_window();
	pml = pmd_lock(mm, batch->pmd);
	locked = batch_lock_mmap(batch, &taken);
	if (locked)
		nr = batch_unhook(batch, pml, age, &gone);
	if (taken)
		mmap_read_unlock(mm);
	spin_unlock(pml);
	if (!locked)
		batch_keep(batch);
	batch->noted = 0;
	batch->whole = 0;
	table_free_chain(mm, gone, nr);
	return nr;
}

/**
 * unmap_batch_finish - deal with a batch as the policy says
 * @batch: the tables, seen empty; none on return
 *
 * As unmap_batch_free().
 */
void unmap_batch_finish(struct table_batch *batch)
{
	if (unmap_policy_eager() && unmap_grace_has_room(batch->vma->vm_mm))
		unmap_batch_free(batch, 0);
	else
		batch_keep(batch);
}
