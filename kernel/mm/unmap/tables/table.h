/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notice page tables that have become empty, and free them.
 *
 * To NOTICE costs one read.  The table's descriptor remembers one entry that was last seen
 * in use, the WATCHED entry: as long as it is in use, the table is not empty.  When the
 * watched entry is found to be none after a clear, the code searches for another entry in
 * use and watches that one; if there is none, the table is empty.  Code that fills entries
 * takes no part.
 *
 * The word in the descriptor (pt_index, unused for these tables otherwise) is written with
 * the page-table lock held, or with the PMD lock (drop_age.c), so that an update may be lost.
 * It is not initialised, and stock code that clears entries does not update it.  A wrong value
 * costs one scan of the table and nothing else, because law 7 examines all entries before a
 * table is freed.
 */
#ifndef __MM_UNMAP_TABLE_H
#define __MM_UNMAP_TABLE_H

#include <linux/bits.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include <asm/tlb.h>

#include "../internal.h"

/*
 * A task that holds the mmap lock of another process must not lose its processor, and so
 * holds it with preemption disabled.  PREEMPT_RT cannot do so, because spinlocks sleep there:
 * cpu.max could stop a task in between.  It never stops a worker, which can be in no control
 * group but the root's.
 *
 * Whether this task may hold the mmap lock of the process of @mm for a short time.
 */
static inline bool unmap_may_lock(const struct mm_struct *mm)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) || mm == current->mm ||
	       current->flags & PF_WQ_WORKER;
}

/* Whether it may wait for a spinlock then, which a task that was stopped can hold. */
static inline bool unmap_may_wait(const struct mm_struct *mm)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) || mm == current->mm;
}

/*
 * How many tables are freed together at most, with one TLB flush: few enough that the PMD
 * lock is not held for long and that one word has a bit for each.
 */
#define TABLE_BATCH	BITS_PER_LONG
#define TABLE_BATCH_MASK	(~(TABLE_BATCH * PMD_SIZE - 1))

/* How many entries unmap_table_glance() looks at. */
#define TABLE_GLANCE	64U

/* Who frees tables: for unmap:table_free. */
enum table_by {
	TABLE_BY_DISCARD,	/* a task that discards memory: at once */
	TABLE_BY_MOVE,		/* mremap() or UFFDIO_MOVE: at once */
	TABLE_BY_OWN,		/* reclaim or MADV_FREE by their own process, when it is done */
	TABLE_BY_WORKER,
	TABLE_BY_SHRINKER,
	TABLE_BY_DROP,		/* it was full: see drop.c */
};

/**
 * struct table_batch - neighbouring tables that were seen empty, under one PMD lock
 * @vma: a VMA of their mm; it need not cover their range
 * @tlb: an mmu_gather of that mm, flushed together with the tables; may be null
 * @mmap_locked: the caller holds the mmap lock, for reading at least
 * @by: for the trace point
 * @pmd: the first PMD of the batch, aligned to a batch
 * @addr: the first address that @pmd translates
 * @empty: one bit for each table that was seen empty
 * @whole: one bit for each of those tables that stock would have freed, too: see
 *	discard_takes_all()
 * @busy: for sweeps: one bit for each table that was left because its lock was not free
 * @slot: of the grace period of the table that unmap_table_give_back() has unhooked
 */
struct table_batch {
	struct vm_area_struct *vma;
	struct mmu_gather *tlb;
	bool mmap_locked;
	enum table_by by;
	pmd_t *pmd;
	unsigned long addr;
	unsigned long empty;
	unsigned long whole;
	unsigned long busy;
	int slot;
};

static inline void unmap_batch_begin(struct table_batch *batch,
				     struct vm_area_struct *vma,
				     struct mmu_gather *tlb)
{
	batch->vma = vma;
	batch->tlb = tlb;
	batch->mmap_locked = false;
	batch->by = TABLE_BY_DISCARD;
	batch->empty = 0;
	batch->whole = 0;
}

/*
 * Some of the functions below do not exist without CONFIG_UNMAP_TABLES, and those of
 * table_gather.c not without CONFIG_UNMAP_GATHER_TABLES: then no call of them is reached.
 */
#define unmap_tables_enabled()	\
	(IS_ENABLED(CONFIG_UNMAP_TABLES) && unmap_enabled(UNMAP_BIT_TABLES))

static inline bool unmap_pmdval_is_table(pmd_t pmdval)
{
	return pmd_present(pmdval) && !pmd_leaf(pmdval) && !pmd_bad(pmdval);
}

/* The table that an entry is in. */
static inline pte_t *unmap_table_of(pte_t *ptep)
{
	return (pte_t *)((unsigned long)ptep & PAGE_MASK);
}

/*
 * Index of the watched entry; the bits above it hold a time in ticks: when the table was seen
 * empty, or looked at by drop_is_old().
 */
static inline unsigned int unmap_table_watched(pte_t *table)
{
	return READ_ONCE(virt_to_ptdesc(table)->pt_index) % PTRS_PER_PTE;
}

static inline void unmap_table_stamp(pte_t *table, unsigned long ticks)
{
	WRITE_ONCE(virt_to_ptdesc(table)->pt_index,
		   ticks * PTRS_PER_PTE + unmap_table_watched(table));
}

/* Ticks since that time; meaningless if none was noted. */
static inline unsigned long unmap_table_age(pte_t *table)
{
	unsigned long seen = READ_ONCE(virt_to_ptdesc(table)->pt_index) / PTRS_PER_PTE;

	return (jiffies - seen) % (ULONG_MAX / PTRS_PER_PTE + 1);
}

/*
 * Law 8: whether a table must not be given back even if it is empty: see table_stays.c.  With the
 * PMD lock held the answer lasts; without, the table may get the mark at any time.
 */
static inline bool unmap_table_stays(pte_t *table)
{
	return IS_ENABLED(CONFIG_UNMAP_TABLES_STAY) && PagePinned(virt_to_page(table));
}

/* table_look.c */
unsigned int unmap_table_next_used(pte_t *table, unsigned int from, unsigned int end);
void unmap_table_noticed(pte_t *table);
bool unmap_table_search(pte_t *table);
bool unmap_table_look(pte_t *table);
bool unmap_table_glance(struct mm_struct *mm, pte_t *table);

/* Law 7: the table is empty. */
static inline void unmap_table_assert_none(pte_t *table)
{
	VM_WARN_ON_ONCE(unmap_table_next_used(table, 0, PTRS_PER_PTE) != PTRS_PER_PTE);
}

/*
 * Law 7: no page counts as mapped through a table that leaves its PMD.  A gather removes the rmap
 * of written pages late.  @tlb: may be null
 */
static inline void unmap_table_assert_unmapped(const struct mmu_gather *tlb)
{
	VM_WARN_ON_ONCE(tlb && tlb->delayed_rmap);
}

/* Whether the table is empty.  Page-table lock held on entry and return. */
static __always_inline bool unmap_table_emptied(pte_t *table)
{
	if (likely(!pte_none(unmap_arch_peek(table + unmap_table_watched(table)))))
		return false;
	return unmap_table_look(table);
}

/* Whether to note or record a table of @mm: it is empty, or may be.  Locks as above. */
static __always_inline bool unmap_table_may_be_empty(struct mm_struct *mm, pte_t *table)
{
	if (likely(!pte_none(unmap_arch_peek(table + unmap_table_watched(table)))))
		return false;
	return unmap_table_glance(mm, table);
}

/* Whether the table of @addr belongs to the batch, or the batch is empty.  No lock needed. */
static inline bool unmap_batch_fits(const struct table_batch *batch,
				    unsigned long addr)
{
	return !batch->empty || batch->addr == (addr & TABLE_BATCH_MASK);
}

/* Add a table that was seen empty.  @addr: any address that the table translates. */
static inline void unmap_batch_note(struct table_batch *batch, pmd_t *pmd,
				    unsigned long addr)
{
	unsigned int i = (addr >> PMD_SHIFT) % TABLE_BATCH;

	VM_WARN_ON_ONCE(!unmap_batch_fits(batch, addr));
	batch->pmd = pmd - i;
	batch->addr = addr & TABLE_BATCH_MASK;
	batch->empty |= BIT(i);
}

/*
 * A single MADV_DONTNEED emptied the whole table: its PMD gets no mark (law 11), because
 * stock of this kernel (since Linux 6.18) frees such a table, too.
 */
static inline void unmap_batch_note_whole(struct table_batch *batch, unsigned long addr)
{
	batch->whole |= BIT((addr >> PMD_SHIFT) % TABLE_BATCH);
}

static inline void unmap_batch_forget(struct table_batch *batch)
{
	batch->empty = 0;
	batch->whole = 0;
}

/* table_batch.c, policy.c */
unsigned int unmap_batch_free(struct table_batch *batch, unsigned long age);
void unmap_batch_finish(struct table_batch *batch);

/* Free or record the noted tables, as the policy says.  No page-table lock is held. */
static inline void unmap_batch_settle(struct table_batch *batch)
{
	if (IS_ENABLED(CONFIG_UNMAP_TABLES) && batch->empty)
		unmap_batch_finish(batch);
}

/* table_batch.c, table.c */
pte_t *unmap_table_unhook(struct mmu_gather *tlb, struct vm_area_struct *vma, pmd_t *pmd);
bool unmap_table_give_back(struct table_batch *batch, pmd_t *pmd, pte_t *table,
			   unsigned long addr, spinlock_t *ptl, bool whole);
void unmap_table_free(const struct table_batch *batch, pte_t *table, unsigned long addr);

/* tables_sweep.c */
pmd_t *unmap_find_pmd(struct mm_struct *mm, unsigned long addr);

/* tables_waiting.c */
unsigned int unmap_grace_begin(struct mm_struct *mm, long nr);
int unmap_grace_try_begin(struct mm_struct *mm);
void unmap_grace_end(unsigned int slot, long nr);
bool unmap_grace_has_room(struct mm_struct *mm);

/* The memcg of an mm, only to be compared; NULL: none.  The RCU read lock is held. */
static inline const struct mem_cgroup *unmap_memcg_of(struct mm_struct *mm)
{
#ifdef CONFIG_MEMCG
	return mem_cgroup_from_task(rcu_dereference(mm->owner));
#else
	return NULL;
#endif
}

/*
 * How many pages may still be charged to an mm's memcg and its ancestors.  Like
 * mem_cgroup_margin(), which is static.
 */
static inline long unmap_memcg_room(struct mm_struct *mm)
{
	long room = LONG_MAX;
#ifdef CONFIG_MEMCG
	struct mem_cgroup *own = get_mem_cgroup_from_mm(mm), *memcg;

	for (memcg = own; memcg; memcg = parent_mem_cgroup(memcg))
		room = min(room, (long)READ_ONCE(memcg->memory.max) -
				 (long)page_counter_read(&memcg->memory));
	mem_cgroup_put(own);
#endif
	return room;
}

/* policy.c, tables_kept.c, tables_worker.c */
enum tables_policy {
	TABLES_EAGER,		/* free empty tables at once */
	TABLES_HUGE,		/* the same, without marks: a fault may get a huge page */
	TABLES_PRESSURE,	/* keep empty tables until memory is short */
};

extern enum tables_policy unmap_tables_policy;

/* Whether empty tables are freed at once. */
static inline bool unmap_policy_eager(void)
{
	return !IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE) ||
	       READ_ONCE(unmap_tables_policy) != TABLES_PRESSURE;
}

/* Law 11: whether freed tables leave a mark in their PMD. */
static inline bool unmap_policy_marks(void)
{
	return READ_ONCE(unmap_tables_policy) != TABLES_HUGE;
}

void unmap_worker_wake(void);
void unmap_worker_policy_changed(void);
void unmap_kept_add(struct mm_struct *mm, unsigned long start,
		    unsigned long end, unsigned int nr);
void unmap_kept_evicted(struct mm_struct *mm, unsigned long addr);
ssize_t unmap_policy_show(char *buf);
int unmap_policy_store(const char *text);

/*
 * If a gather has no single pages to flush, x86 flushes one address in each 2 MiB, from the
 * start of its range on.  With a start in the middle of a table, the last of these addresses can
 * lie beyond the end of the range, so that the last table would stay in walk caches.
 */
static inline bool unmap_gather_may_miss(const struct mmu_gather *tlb)
{
	return tlb->cleared_pmds && !tlb->cleared_ptes && tlb->start & ~PMD_MASK;
}

/* table_gather.c */
bool unmap_table_may_be_gathered(const struct vm_area_struct *vma);
bool unmap_table_try_unhook(const struct mmu_gather *tlb, pmd_t *pmd, pte_t *table,
			    spinlock_t *ptl);
void unmap_table_gather(struct mmu_gather *tlb, pte_t *table, unsigned long addr);

/* Make room for the table of @addr: settle the batch if that table does not belong to it. */
static inline void unmap_batch_make_room(struct table_batch *batch, unsigned long addr)
{
	if (!unmap_batch_fits(batch, addr))
		unmap_batch_settle(batch);
}

#endif /* __MM_UNMAP_TABLE_H */
