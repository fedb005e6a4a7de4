// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty page tables that are not freed at once: reclaim seems to have emptied them, and its TLB
 * flush is still to come; or the policy is to wait, until memory is short, or because the table
 * came back last time; or the task that emptied them could not get the mmap lock; or too many
 * tables of the control group wait for their grace period.
 *
 * A table waits in a list (list_lru) of the group that it is charged to, and of its memory node: so
 * reclaim of the group finds it.  The list goes through the table's own descriptor:
 *
 *	__page_mapping	0, or the mm: the table was in the list.  Set with the table's lock held
 *			while the table is in its PMD.  Who takes it out of its PMD calls
 *			unmap_table_leave(), which clears it.
 *	pt_list		valid if __page_mapping is set: in the list, or empty.  Changed under the
 *			list's lock.
 *	pt_index	when the table was seen empty, and an address that it translates.
 *
 * Law 17.  A table has left the list before its descriptor's words are used for anything else: it
 * is freed, handed to RCU (whose head lies over pt_list), or deposited for a huge page (which
 * links deposited tables through pt_list).  unmap_table_assert_left() asserts it, and stock's
 * page allocator that __page_mapping is null.
 *
 * Code that fills a table again takes no part: the table is found in use when its turn comes, and
 * leaves the list.
 *
 * Lock order: PMD lock, table's lock, list's lock.  Under the list's lock the mmap lock is only
 * tried for.  A table in the list is hooked, or about to leave it under that lock, so that its mm
 * exists: no mm goes before its tables.  Once the list's lock is dropped the table may go at any
 * time, and is reached through the PMD only.  What is found there need not be the table that was
 * in the list: any table that is proven empty may go.
 */
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/oom.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/shrinker.h>
#include <linux/swap.h>
#include <linux/unmap.h>

#include "../internal.h"
#include "../stat.h"
#include "compat_list.h"
#include "tables_wait.h"

/* After so many processes in a row whose mmap locks are not free, the others are left for later. */
#define MOST_BUSY	16
/*
 * The list is nearly in the order of time: after an eighth of it, and a few, that have not waited
 * long enough, the worker leaves the rest for later.
 */
#define MOST_YOUNG(nr)	((nr) / 8 + 16)

struct list_lru unmap_waiting;

/*
 * The table's lock is held.  If it is in the list, it is not put there again: who takes it out
 * meanwhile finds it empty and young, and puts it back, or in use.  The list of a control group,
 * which may have to be allocated, may use reserves (__GFP_HIGH), and is not charged: it is to get
 * back more.
 *
 * Returns whether it is in the list.
 */
static bool table_list(struct mm_struct *mm, struct ptdesc *table)
{
	gfp_t gfp = GFP_NOWAIT | __GFP_HIGH | __GFP_NOWARN | __GFP_NOMEMALLOC;

	if (unmap_table_waits(mm, table))
		return true;
	if (table->__page_mapping != (unsigned long)mm) {
		VM_WARN_ON_ONCE(table->__page_mapping);
		INIT_LIST_HEAD(&table->pt_list);
		WRITE_ONCE(table->__page_mapping, (unsigned long)mm);
	}
	if (!compat_list_add(&unmap_waiting, table, gfp)) {
		/* Who takes a table out of a list expects that there is one. */
		WRITE_ONCE(table->__page_mapping, 0);
		return false;
	}
	unmap_count(UNMAP_STAT_TABLES_WAITED, 1);
	unmap_worker_wake();
	return true;
}

/**
 * unmap_table_wait - let an empty page table wait before it is freed
 * @mm: of the table
 * @table: was seen empty, or seems so (unmap_table_seems_empty()), and is in its PMD
 * @addr: any address that it translates
 *
 * The table's lock is held on entry and return.
 *
 * Return: false if there is no memory for the list.  Then the table stays until it is emptied
 * again, or its VMAs are unmapped.
 */
bool unmap_table_wait(struct mm_struct *mm, pte_t *table, unsigned long addr)
{
	lockdep_assert_held(ptep_lockptr(mm, table));
	if (UNMAP_ARCH_TABLES_PINNED || unmap_table_stays(table) || unlikely(!unmap_waiting.node))
		return false;
	unmap_table_stamp_at(table, addr);
	return table_list(mm, virt_to_ptdesc(table));
}

/**
 * unmap_swap_freed - MADV_FREE has cleared swap entries in a table
 * @mm: the mm of the table
 * @pte: an entry of the table; null if the table was freed meanwhile
 * @addr: an address that the table translates
 *
 * Called by stock's MADV_FREE, which clears swap entries itself.  If the table is empty now, it
 * waits. Page-table lock held on entry and return, if @pte is not null.
 */
void unmap_swap_freed(struct mm_struct *mm, pte_t *pte, unsigned long addr)
{
	if (pte && unmap_tables_enabled() && unmap_table_emptied(mm, unmap_table_of(pte)))
		unmap_table_wait(mm, unmap_table_of(pte), addr);
}

/**
 * unmap_table_wait_on - let a table wait that was taken out of the list too early
 * @mm: of the table
 * @table: is empty, and in its PMD
 * @addr: any address that it translates
 *
 * It keeps the time at which it was seen empty.  The table's lock is held on entry and return.
 */
void unmap_table_wait_on(struct mm_struct *mm, pte_t *table, unsigned long addr)
{
	unmap_table_set_addr(table, addr);
	table_list(mm, virt_to_ptdesc(table));
}

/**
 * unmap_table_wait_no_more - take a table out of the list that is in use
 * @mm: of the table
 * @table: in its PMD; its lock is held on entry and return
 */
void unmap_table_wait_no_more(struct mm_struct *mm, pte_t *table)
{
	struct ptdesc *desc = virt_to_ptdesc(table);

	/* Unlike unmap_table_leave(), it keeps the word. */
	if (desc->__page_mapping == (unsigned long)mm)
		__unmap_table_leave(desc);
}

/**
 * __unmap_table_leave - take a table out of the list
 * @table: was in the list; its lock is held, or the caller has taken it out of its PMD
 *
 * The list's lock is always taken: who has taken the table out of the list, but not looked at it
 * yet, holds it.  Any lock may be held that comes before it.
 */
void __unmap_table_leave(struct ptdesc *table)
{
	compat_list_del(&unmap_waiting, table);
	WRITE_ONCE(table->__page_mapping, 0);
}

/**
 * __unmap_table_moved - mremap() has moved a table that waits
 * @table: is in its new PMD
 * @addr: the first address that it translates now
 *
 * The mmap lock is held for writing.  Who writes to the word meanwhile has found the table at its
 * old place: then it is found again when it is next emptied.
 */
void __unmap_table_moved(struct ptdesc *table, unsigned long addr)
{
	unsigned long word = READ_ONCE(table->pt_index);

	if (unmap_table_stays(ptdesc_address(table)))
		return;
	cmpxchg(&table->pt_index, word, unmap_table_word_for(word, addr));
}

/**
 * struct pick - a table that was picked from the list
 * @by: for whom
 * @age: leave tables that were seen empty less than this many ticks ago
 * @mm: its mm, referenced and with the mmap lock held for reading; null: none was picked
 * @addr: an address that it translates, or did when it was listed
 * @avoid: an mm whose lock was not free, only to be compared
 * @busy: so many mms in a row had locks that were not free
 * @young: so many tables had not waited long enough
 */
struct pick {
	enum table_by by;
	unsigned long age;
	struct mm_struct *mm;
	unsigned long addr;
	const struct mm_struct *avoid;
	unsigned int busy;
	unsigned long young;
};

/* mmget() would make an exiting process wait for this task; without users nothing is left to do. */
static bool pick_lock(struct pick *p, struct mm_struct *mm)
{
	if (mm == p->avoid)
		return false;
	if (!unmap_may_lock(mm) || !atomic_read(&mm->mm_users) || !mmap_read_trylock(mm)) {
		p->avoid = mm;
		p->busy++;
		return false;
	}
	mmgrab(mm);
	p->mm = mm;
	p->busy = 0;
	return true;
}

/*
 * @arg: a struct pick.  The list's lock is held.
 *
 * On PREEMPT_RT the worker waits for no lock of a table, and so may leave the table: it stays in
 * the list until it is gone, or found in use.
 */
static enum lru_status pick_one(struct list_head *item, struct list_lru_one *list, void *arg)
{
	struct ptdesc *table = container_of(item, struct ptdesc, pt_list);
	struct mm_struct *mm = (struct mm_struct *)READ_ONCE(table->__page_mapping);
	pte_t *entries = ptdesc_address(table);
	struct pick *p = arg;

	if (unmap_table_age(entries) < p->age) {
		p->young++;
		return LRU_ROTATE;
	}
	if (p->by == TABLE_BY_WORKER && !unmap_grace_has_room(mm))
		return LRU_ROTATE;
	if (!pick_lock(p, mm))
		return LRU_ROTATE;
	/* Now mremap() cannot move it any more. */
	p->addr = unmap_table_addr(entries);
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return LRU_ROTATE;
	list_lru_isolate(list, item);
	return LRU_REMOVED;
}

/*
 * Neighbours that look empty and have waited long enough go along: one flush serves all of them.
 * Each needs a VMA, or free_pgtables() may be freeing it, without a grace period.
 */
static void free_note_neighbours(struct table_batch *batch, struct mm_struct *mm, pmd_t *pmd,
				 unsigned long addr, unsigned long age)
{
	unsigned long base = addr & TABLE_BATCH_MASK, at;
	unsigned int i;

	pmd -= (addr - base) >> PMD_SHIFT;
	for (i = 0; i < TABLE_BATCH; i++) {
		at = base + i * PMD_SIZE;
		if (unmap_find_vma(mm, at) && unmap_pmd_looks_empty(pmd + i, at, age))
			unmap_batch_note(batch, pmd + i, at);
	}
}

/* The mmap lock is held.  Returns how many tables were freed. */
static unsigned int free_picked(const struct pick *p)
{
	struct table_batch batch;
	unsigned int freed;
	pmd_t *pmd;

	/* If fork() failed halfway, the child's mm still has VMAs of its parent. */
	if (check_stable_address_space(p->mm))
		return 0;
	unmap_batch_begin(&batch, unmap_find_vma(p->mm, p->addr), NULL);
	pmd = batch.vma ? unmap_find_pmd(p->mm, p->addr) : NULL;
	if (!pmd)
		return 0;
	batch.mmap_locked = true;
	batch.by = p->by;
	free_note_neighbours(&batch, p->mm, pmd, p->addr, p->age);
	/* Even if it does not look empty: if it is in use, it may still be in the list. */
	unmap_batch_note(&batch, pmd, p->addr);
	freed = unmap_batch_free(&batch, p->age);
	return freed;
}

/*
 * Disable preemption while another process's mmap lock is held, so that no task of higher
 * priority delays its release.  PREEMPT_RT cannot do so: see unmap_may_lock().
 */
static void pin_task(bool here)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return;
	if (here)
		preempt_disable();
	else
		preempt_enable();
}

/* Look at one table of the list.  Returns how many were freed. */
static unsigned int free_next(int nid, struct mem_cgroup *memcg, struct pick *p)
{
	unsigned long one = 1;
	unsigned int freed = 0;

	p->mm = NULL;
	pin_task(true);
	compat_list_walk(&unmap_waiting, nid, memcg, pick_one, p, &one);
	if (p->mm) {
		freed = free_picked(p);
		mmap_read_unlock(p->mm);
	}
	pin_task(false);
	if (p->mm)
		mmdrop(p->mm);
	return freed;
}

/**
 * unmap_waiting_free - free page tables that wait
 * @nid: of this memory node
 * @memcg: and of this control group, without those below; null: of none
 * @nr: how many of the list to look at
 * @age: leave tables that were seen empty less than this many ticks ago
 * @by: for the trace point
 * @freed: gets how many tables were freed more
 *
 * mmap locks are tried for.  Reschedules.
 *
 * Return: false if the locks of many processes in a row were not free.
 */
bool unmap_waiting_free(int nid, struct mem_cgroup *memcg, unsigned long nr, unsigned long age,
			enum table_by by, unsigned int *freed)
{
	unsigned long most = by == TABLE_BY_WORKER ? MOST_YOUNG(nr) : nr;
	struct pick p = { .by = by, .age = age };

	while (nr-- && p.busy < MOST_BUSY && p.young <= most) {
		*freed += free_next(nid, memcg, &p);
		cond_resched();
	}
	return p.busy < MOST_BUSY;
}

/**
 * unmap_waiting_has_list - has the group a list of its own?
 * @memcg: null: none, and so the list of what is not charged
 *
 * Return: false if there is one list for all of them (no shrinker, or kernel memory is not
 * charged), or once the group was removed: then it would be the list of another.
 */
bool unmap_waiting_has_list(struct mem_cgroup *memcg)
{
	return !memcg || mem_cgroup_is_root(memcg) ||
	       (IS_ENABLED(CONFIG_UNMAP_TABLES_PRESSURE) && memcg_kmem_online() &&
		mem_cgroup_online(memcg));
}

/**
 * unmap_free_all_waiting - free all tables of a group that wait, however young they are
 * @nid: the memory node that is reclaimed
 * @memcg: the group that is reclaimed; null: none
 *
 * Locks as in unmap_shrink_slab().  A table whose mmap lock is not free is left; on PREEMPT_RT,
 * those of other processes are.
 */
void unmap_free_all_waiting(int nid, struct mem_cgroup *memcg)
{
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nid = nid, .memcg = memcg };
	unsigned int freed = 0;

	if (unlikely(!unmap_waiting.node) || !unmap_waiting_has_list(memcg))
		return;
	unmap_waiting_free(nid, memcg, list_lru_shrink_count(&unmap_waiting, &sc), 0,
			   TABLE_BY_SHRINKER, &freed);
	mm_account_reclaimed_pages(freed);
}

static int __init waiting_init(void)
{
	return unmap_shrinker_init();
}
core_initcall(waiting_init);
