// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dropping full page tables when memory is short: whose, and when.
 *
 * Page tables of a file that many processes map can be as large as the file.  Reclaim of stock
 * kernels leaves them: they belong to nobody's LRU list.  But where a table maps nothing but page
 * cache, a fault can build it again.  So tables of processes that have been idle for a while are
 * dropped: see drop_table.c for what may go.
 *
 * When: reclaim is in earnest (its priority has sunk), or the group's tables, on this node, are a
 * large share of its memory.  A written table costs a fault for each of its entries to have back,
 * and goes only when reclaim of its group has found too little.
 *
 * Whose: an mm is idle if no thread of its process runs or has begun to run lately; the scheduler
 * keeps the time (CONFIG_SCHED_INFO).  A thread that began to run long ago, and stopped a moment
 * ago, is taken for idle by mistake; that costs it faults.  MGLRU's list of a group's mms is kept
 * up whether MGLRU is switched on or not.
 *
 * How much: each call of reclaim looks at a bounded number of mms and tables.  A cursor remembers
 * where the next call goes on.  As in sweeps (tables_sweep.c), the mmap lock is only tried for,
 * held with preemption disabled, and released as soon as another task waits for it.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/mmzone.h>
#include <linux/oom.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/swap.h>
#include <linux/unmap.h>
#include <linux/vmstat.h>

#include "drop.h"
#include "internal.h"

#define DROP_MMS_MAX		32	/* idle mms in a call */
#define DROP_STEPS		4096	/* VMAs and places of tables in a call */
#define DROP_TABLES_MAX		1024	/* dropped in a call; less if reclaim is not urgent */
#define DROP_TABLES_MIN		32	/* an mm with fewer is not worth it */
#define DROP_THREADS_MAX	1024
#define DROP_EARNEST		(DEF_PRIORITY / 2)
#define CURSOR_BITS		6

/*
 * Where the next call goes on.  Groups share a cursor if their hashes agree, and calls that run at
 * the same time may overwrite each other's: a hint, without a lock.
 *
 * @place: how many mms of the list to skip
 * @addr: where to begin in the next one
 */
struct cursor {
	unsigned int place;
	unsigned long addr;
};

static struct cursor cursors[1 << CURSOR_BITS];

/* One call of reclaim for one group and one node. */
struct drop_call {
	struct mem_cgroup *memcg;
	struct cursor cursor;
	u64 before;		/* of local_clock(): who ran since is not idle */
	unsigned int mms_left;
};

static bool drop_thread_is_idle(const struct task_struct *t, u64 before)
{
	return !task_is_running(t) && READ_ONCE(t->sched_info.last_arrival) < before;
}

/*
 * Whether no thread of the mm's process has run lately.  Who else uses the mm is not known: then
 * it is not idle.  RCU read lock held.
 */
static bool drop_mm_is_idle(const struct mm_struct *mm, u64 before)
{
	struct task_struct *owner = rcu_dereference(mm->owner), *t;
	int nr = 0;

	if (!owner || atomic_read(&mm->mm_users) > get_nr_threads(owner))
		return false;
	for_each_thread(owner, t)
		if (nr++ == DROP_THREADS_MAX || !drop_thread_is_idle(t, before))
			return false;
	return true;
}

/* Whether the mm is idle, and may have tables that are worth dropping.  RCU read lock held. */
static bool drop_wants_mm(const struct drop_call *call, struct mm_struct *mm)
{
	unsigned long pages = get_mm_counter(mm, MM_FILEPAGES) + get_mm_counter(mm, MM_SHMEMPAGES);

	if (pages < DROP_TABLES_MIN || mm_pgtables_bytes(mm) < DROP_TABLES_MIN * PAGE_SIZE)
		return false;
	unmap_count(UNMAP_STAT_DROP_MMS, 1);
	/* For tests: even those that run. */
	if (!READ_ONCE(unmap_drop_idle_ms) || drop_mm_is_idle(mm, call->before))
		return true;
	unmap_count(UNMAP_STAT_DROP_BUSY, 1);
	return false;
}

/* The next idle mm from the cursor on, with a reference to its users; null at the list's end. */
static struct mm_struct *drop_next_mm(struct drop_call *call)
{
	struct lru_gen_mm_list *list = &call->memcg->mm_list;
	struct mm_struct *mm, *found = NULL;
	unsigned int place = 0;

	spin_lock(&list->lock);
	rcu_read_lock();
	list_for_each_entry(mm, &list->fifo, lru_gen.list) {
		if (place++ < call->cursor.place)
			continue;
		if (drop_wants_mm(call, mm) && mmget_not_zero(mm)) {
			found = mm;
			place--;
			break;
		}
		call->cursor.addr = 0;
	}
	rcu_read_unlock();
	spin_unlock(&list->lock);
	call->cursor.place = found ? place : 0;
	return found;
}

/* Whether another process, or this task, should have the processor or the mmap lock. */
static bool drop_step_is_over(const struct drop *d)
{
	return !d->steps_left || !d->drops_left || need_resched() ||
	       mmap_lock_is_contended(d->mm);
}

static bool drop_is_wanted(const struct drop *d, pmd_t *pmd)
{
	pmd_t pmdval = pmdp_get_lockless(pmd);

	return unmap_pmdval_is_table(pmdval) && page_to_nid(pmd_page(pmdval)) == d->nid;
}

/* Look at the table of @addr.  Returns the address from which to go on. */
static unsigned long drop_look(struct drop *d, unsigned long addr)
{
	pmd_t *pmd = unmap_find_pmd(d->mm, addr);

	d->steps_left--;
	if (!pmd)
		return (addr | ~PUD_MASK) + 1;
	if (drop_is_wanted(d, pmd)) {
		d->looked++;
		if (drop_table(d, pmd, addr)) {
			d->dropped++;
			d->drops_left--;
		}
	}
	return (addr | ~PMD_MASK) + 1;
}

static void drop_vma(struct drop *d, const struct vm_area_struct *vma)
{
	d->next = max(d->next, vma->vm_start);
	while (d->next < vma->vm_end && !drop_step_is_over(d))
		d->next = drop_look(d, d->next);
}

/* mmap lock held.  Returns whether all of the mm was looked at. */
static bool drop_vmas(struct drop *d)
{
	struct vm_area_struct *vma;
	struct vma_iterator vmi;

	vma_iter_init(&vmi, d->mm, d->next);
	for_each_vma(vmi, vma) {
		if (drop_step_is_over(d))
			return false;
		d->steps_left--;
		if (drop_vma_may(vma))
			drop_vma(d, vma);
	}
	return true;
}

/* Law 15.  mmap lock held: nobody registers a notifier meanwhile. */
static bool drop_mm_may(struct mm_struct *mm)
{
	return !mm_has_notifiers(mm) && !check_stable_address_space(mm);
}

/* Returns whether the mm is done: all was looked at, or it cannot be locked, or must stay. */
static bool drop_step(struct drop *d)
{
	bool done = true;

	preempt_disable();
	if (mmap_read_trylock(d->mm)) {
		done = !drop_mm_may(d->mm) || drop_vmas(d);
		mmap_read_unlock(d->mm);
	}
	preempt_enable();
	return done;
}

static bool drop_mm(struct drop *d)
{
	bool done = drop_step(d);

	while (!done && d->steps_left && d->drops_left) {
		cond_resched();
		done = drop_step(d);
	}
	return done;
}

/* Look at idle mms from the cursor on, until the call has done its part. */
static void drop_mms(struct drop_call *call, struct drop *d)
{
	while (call->mms_left-- && d->steps_left && d->drops_left) {
		d->mm = drop_next_mm(call);
		if (!d->mm)
			return;
		d->next = call->cursor.addr;
		if (drop_mm(d)) {
			call->cursor.place++;
			d->next = 0;
		}
		call->cursor.addr = d->next;
		mmput_async(d->mm);
	}
}

/* Pages of memory that the group has on this node; of the root: of the node. */
static unsigned long drop_memory(struct mem_cgroup *memcg, int nid)
{
	if (mem_cgroup_is_root(memcg))
		return node_present_pages(nid);
	return page_counter_read(&memcg->memory);
}

/* Whether the group's page tables are worth looking for: see above. */
static bool drop_is_due(struct mem_cgroup *memcg, int nid, int priority)
{
	struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));
	unsigned long tables;

	/* drop_caches, too, which has statistics of groups not brought up to date. */
	if (priority <= DROP_EARNEST)
		return true;
	tables = lruvec_page_state(lruvec, NR_PAGETABLE);
	return tables * 100 >= drop_memory(memcg, nid) * READ_ONCE(unmap_drop_share);
}

static noinline void drop_for_group(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority)
{
	struct cursor *cursor = &cursors[hash_ptr(memcg, CURSOR_BITS)];
	struct drop_call call = {
		.memcg = memcg,
		.cursor = { READ_ONCE(cursor->place), READ_ONCE(cursor->addr) },
		.before = local_clock() - (u64)READ_ONCE(unmap_drop_idle_ms) * NSEC_PER_MSEC,
		.mms_left = DROP_MMS_MAX,
	};
	struct drop d = {
		.nid = nid,
		.written = priority < DEF_PRIORITY && gfp & __GFP_FS,
		.steps_left = DROP_STEPS,
		.drops_left = DROP_TABLES_MAX >> min(priority, 4),
	};

	unmap_batch_begin(&d.batch, NULL, NULL);
	d.batch.by = TABLE_BY_DROP;
	d.batch.mmap_locked = true;
	drop_mms(&call, &d);
	WRITE_ONCE(cursor->place, call.cursor.place);
	WRITE_ONCE(cursor->addr, call.cursor.addr);
	unmap_count(UNMAP_STAT_DROP_LOOKED, d.looked);
	unmap_count(UNMAP_STAT_DROP_TABLES, d.dropped);
	mm_account_reclaimed_pages(d.dropped);
}

/**
 * unmap_drop_tables - reclaim full page tables of idle processes
 * @gfp: what reclaim may do
 * @nid: the memory node of the tables that are wanted
 * @memcg: the group whose processes are looked at, not those of groups below; null: none
 * @priority: reclaim's; 0 is the most urgent
 *
 * Called by shrink_slab().  The caller may hold any lock with which memory may be reclaimed, an
 * mmap lock among them.  Reschedules.
 */
void unmap_drop_tables(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority)
{
	if (!unmap_enabled(UNMAP_BIT_DROP) || !memcg || UNMAP_ARCH_TABLES_PINNED ||
	    !drop_is_due(memcg, nid, priority))
		return;
	drop_for_group(gfp, nid, memcg, priority);
}
