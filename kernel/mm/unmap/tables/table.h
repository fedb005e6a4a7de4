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
 * The word in the descriptor (pt_index, unused for these tables otherwise) holds the number of
 * the page that the watched entry maps, in all user addresses, and above it a time.  It is
 * written with the page-table lock held, or by cmpxchg() with the PMD lock (drop_age.c), so that
 * a time may be lost, but not a number.  It is not initialised, and stock code that clears entries
 * does not update it.  A wrong value costs a look at the table, or lists it in vain until the
 * worker has looked, and nothing else: law 7 examines all entries before a table is freed.
 */
#ifndef __MM_UNMAP_TABLE_H
#define __MM_UNMAP_TABLE_H

#include <linux/bits.h>
#include <linux/list.h>
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

/* How many entries unmap_table_seems_empty() looks at, besides the last one. */
#define TABLE_GLANCE	(PTRS_PER_PTE / 4U)

/* The word in the descriptor: so many bits hold a page's number.  Addresses have up to 57 bits. */
#define TABLE_NUMBER_BITS	(57 - PAGE_SHIFT)
#define TABLE_NUMBERS		GENMASK(TABLE_NUMBER_BITS - 1, 0)
/* The time above them is counted in ticks, and begins anew after hours. */
#define TABLE_TICKS		16UL	/* in a second */
#define TABLE_TIMES		(ULONG_MAX >> TABLE_NUMBER_BITS)

/* Who frees tables: for unmap:table_free. */
enum table_by {
	TABLE_BY_DISCARD,	/* a task that discards memory: at once */
	TABLE_BY_MOVE,		/* mremap() or UFFDIO_MOVE: at once */
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
 * Law 8: whether a table must not be given back even if it is empty: see table_stays.c.  With the
 * PMD lock held the answer lasts; without, the table may get the mark at any time.
 */
static inline bool unmap_table_stays(pte_t *table)
{
	return IS_ENABLED(CONFIG_UNMAP_TABLES_STAY) && PagePinned(virt_to_page(table));
}

static inline unsigned long unmap_table_word(pte_t *table)
{
	return READ_ONCE(virt_to_ptdesc(table)->pt_index);
}

/* Page-table lock held.  hugetlb takes the word of a table that stays for a count: it is 0. */
static inline void unmap_table_set_word(pte_t *table, unsigned long word)
{
	if (!unmap_table_stays(table))
		WRITE_ONCE(virt_to_ptdesc(table)->pt_index, word);
}

/* Index of the watched entry. */
static inline unsigned int unmap_table_watched(pte_t *table)
{
	return unmap_table_word(table) % PTRS_PER_PTE;
}

/* Page-table lock held. */
static inline void unmap_table_watch(pte_t *table, unsigned int i)
{
	unmap_table_set_word(table, round_down(unmap_table_word(table), PTRS_PER_PTE) + i);
}

/* The address that the watched entry translates, if the table waits, or did. */
static inline unsigned long unmap_table_addr(pte_t *table)
{
	return (unmap_table_word(table) & TABLE_NUMBERS) << PAGE_SHIFT;
}

/* The time, in ticks; never 0, which means none. */
static inline unsigned long unmap_table_now(void)
{
	return (jiffies * TABLE_TICKS / HZ & TABLE_TIMES) ?: 1;
}

/* The word for the same page, at another time. */
static inline unsigned long unmap_table_word_at(unsigned long word, unsigned long ticks)
{
	return ticks << TABLE_NUMBER_BITS | (word & TABLE_NUMBERS);
}

/* The word for another page, at the same time. */
static inline unsigned long unmap_table_word_for(unsigned long word, unsigned long addr)
{
	return (word & ~TABLE_NUMBERS) | addr >> PAGE_SHIFT;
}

/* Page-table lock held, as below. */
static inline void unmap_table_stamp_at(pte_t *table, unsigned long addr)
{
	unmap_table_set_word(table, unmap_table_word_at(addr >> PAGE_SHIFT, unmap_table_now()));
}

/* It keeps its time. */
static inline void unmap_table_set_addr(pte_t *table, unsigned long addr)
{
	unmap_table_set_word(table, unmap_table_word_for(unmap_table_word(table), addr));
}

/* Ticks since the table was seen empty, or looked at by drop_is_old(). */
static inline unsigned long unmap_table_age(pte_t *table)
{
	unsigned long seen = unmap_table_word(table) >> TABLE_NUMBER_BITS;

	return seen ? (unmap_table_now() - seen) & TABLE_TIMES : ULONG_MAX;
}

/* table_look.c */
unsigned int unmap_table_next_used(pte_t *table, unsigned int from, unsigned int end);
void unmap_table_noticed(pte_t *table);
bool unmap_table_search(pte_t *table);
bool unmap_table_look(pte_t *table);
bool unmap_table_seems_empty(struct mm_struct *mm, pte_t *table);
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

/* Whether the watched entry is in use: then the table is not empty.  Page-table lock held. */
static __always_inline bool unmap_table_watched_used(pte_t *table)
{
	return !pte_none(unmap_arch_peek(table + unmap_table_watched(table)));
}

/* Whether a table of @mm may be empty, so that it is to wait.  Page-table lock held. */
static __always_inline bool unmap_table_emptied(struct mm_struct *mm, pte_t *table)
{
	return !likely(unmap_table_watched_used(table)) && unmap_table_seems_empty(mm, table);
}

/* Whether the table of @mm waits: see tables_wait.c.  Page-table lock held. */
static inline bool unmap_table_waits(const struct mm_struct *mm, struct ptdesc *table)
{
	return table->__page_mapping == (unsigned long)mm && !list_empty_careful(&table->pt_list);
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

/* Free the noted tables, or let them wait, as the policy says.  No page-table lock is held. */
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
struct vm_area_struct *unmap_find_vma(struct mm_struct *mm, unsigned long addr);
bool unmap_pmd_looks_empty(pmd_t *pmd, unsigned long addr, unsigned long age);

/* tables_wait.c */
bool unmap_table_wait(struct mm_struct *mm, pte_t *table, unsigned long addr);
void unmap_table_wait_on(struct mm_struct *mm, pte_t *table, unsigned long addr);
void unmap_table_wait_no_more(struct mm_struct *mm, pte_t *table);

/* table_ghosts.c; the last one for tests. */
void unmap_ghost_leave(const struct mm_struct *mm, unsigned long addr);
bool unmap_table_came_back(const struct mm_struct *mm, unsigned long addr);
bool unmap_ghost_is_young(u32 ghost, u32 now);

/* tables_grace.c */
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
void unmap_gather_flush_pages(struct mmu_gather *tlb);

/* Make room for the table of @addr: settle the batch if that table does not belong to it. */
static inline void unmap_batch_make_room(struct table_batch *batch, unsigned long addr)
{
	if (!unmap_batch_fits(batch, addr))
		unmap_batch_settle(batch);
}

#endif /* __MM_UNMAP_TABLE_H */
