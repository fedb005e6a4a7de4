// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose full page tables are dropped.
 *
 * An mm is idle if no thread of its process runs or has begun to run lately; the scheduler keeps
 * the time (CONFIG_SCHED_INFO).  A thread that began to run long ago, and stopped a moment ago, is
 * taken for idle by mistake; that costs it faults.  Of a process that runs, old tables go
 * (drop_age.c).  MGLRU's list of a group's mms is kept up whether MGLRU is switched on or not.
 *
 * As in sweeps (tables_sweep.c), the mmap lock is only tried for, held with preemption disabled,
 * and released as soon as another task waits for it.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/oom.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/unmap.h>

#include "drop.h"
#include "../internal.h"
#include "../knobs.h"
#include "../stat.h"

/* In one walk at most: */
#define DROP_PLACES_MAX		4096	/* mms of the list; tables of mms behind these never go */
#define DROP_LOOKS_MAX		64	/* mms that are looked at */
#define DROP_THREADS_ALL	256	/* threads of all of these; then no more mms are */
#define DROP_STEPS_STAYED	16	/* steps that a table costs that was judged and stays */

#define DROP_TABLES_MIN		32	/* an mm with fewer is not worth it */
#define DROP_THREADS_MAX	64	/* an mm with more is not idle */

static bool drop_thread_is_idle(const struct task_struct *t, u64 before)
{
	return !task_is_running(t) && READ_ONCE(t->sched_info.last_arrival) < before;
}

/*
 * Whether no thread of the mm's process has run lately.  Who else uses the mm is not known: then
 * it is not idle.  @own: how many of its users are the caller.  @looked: so many threads were
 * looked at.  RCU read lock held.
 */
static bool drop_threads_are_idle(const struct mm_struct *mm, int own, u64 before,
				  unsigned int *looked)
{
	struct task_struct *owner = rcu_dereference(mm->owner), *t;

	if (!owner || atomic_read(&mm->mm_users) - own > get_nr_threads(owner))
		return false;
	for_each_thread(owner, t)
		if ((*looked)++ == DROP_THREADS_MAX || !drop_thread_is_idle(t, before))
			return false;
	return true;
}

static bool drop_mm_is_idle(const struct mm_struct *mm, int own, u64 before,
			    unsigned int *looked)
{
	bool idle;

	*looked = 0;
	/* For tests: even those that run. */
	if (!READ_ONCE(unmap_drop_idle_ms))
		return true;
	rcu_read_lock();
	idle = drop_threads_are_idle(mm, own, before, looked);
	rcu_read_unlock();
	return idle;
}

static bool drop_has_tables(struct mm_struct *mm)
{
	unsigned long pages = get_mm_counter(mm, MM_FILEPAGES) + get_mm_counter(mm, MM_SHMEMPAGES);

	return pages >= DROP_TABLES_MIN && mm_pgtables_bytes(mm) >= DROP_TABLES_MIN * PAGE_SIZE;
}

/* Whether the mm may have tables that are worth dropping, and is idle, or is not. */
static bool drop_wants_mm(struct drop_call *call, struct mm_struct *mm)
{
	unsigned int looked;
	bool idle;

	if (!drop_has_tables(mm))
		return false;
	idle = drop_mm_is_idle(mm, 0, call->before, &looked);
	call->threads_left -= min(call->threads_left, looked);
	if (call->running)
		return !idle;
	unmap_count(UNMAP_STAT_DROP_MMS, 1);
	if (!idle)
		unmap_count(UNMAP_STAT_DROP_BUSY, 1);
	return idle;
}

/*
 * Look at an mm of the list.  Returns false if the call has all that it takes.  The mm is only
 * kept from being freed: its last user may go while others are looked at.
 */
static bool drop_gather_one(struct drop_call *call, struct mm_struct *mm, unsigned int place)
{
	if (drop_wants_mm(call, mm)) {
		mmgrab(mm);
		call->places[call->nr] = place;
		call->mms[call->nr++] = mm;
	}
	return call->nr < DROP_MMS_MAX && call->threads_left;
}

/*
 * Gather mms from @call->from on.  The lock of the list is held: not for long, so only so many
 * threads are looked at.
 */
static void drop_gather_from(struct drop_call *call, struct list_head *fifo)
{
	unsigned int place = 0, end = min(call->from + DROP_LOOKS_MAX, DROP_PLACES_MAX);
	struct mm_struct *mm;

	call->next = 0;
	list_for_each_entry(mm, fifo, lru_gen.list) {
		if (place == end) {
			call->next = end == DROP_PLACES_MAX ? 0 : end;
			break;
		}
		if (place++ < call->from)
			continue;
		if (!drop_gather_one(call, mm, place - 1)) {
			call->next = place;
			break;
		}
	}
}

static void drop_gather(struct drop_call *call)
{
	struct lru_gen_mm_list *list = &call->memcg->mm_list;

	call->threads_left = DROP_THREADS_ALL;
	spin_lock(&list->lock);
	drop_gather_from(call, &list->fifo);
	spin_unlock(&list->lock);
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
static unsigned long drop_look(struct drop *d, struct vm_area_struct *vma, unsigned long addr)
{
	pmd_t *pmd = unmap_find_pmd(d->mm, addr);

	d->steps_left--;
	if (!pmd)
		return (addr | ~PUD_MASK) + 1;
	if (drop_is_wanted(d, pmd) && (!d->busy || drop_is_old(d, vma, pmd, addr))) {
		d->looked++;
		if (drop_table(d, pmd, addr))
			d->dropped++;
		else
			d->steps_left -= min(d->steps_left, DROP_STEPS_STAYED - 1);
	}
	return (addr | ~PMD_MASK) + 1;
}

/* Returns whether all of the VMA was looked at. */
static bool drop_vma(struct drop *d, struct vm_area_struct *vma)
{
	if (!drop_vma_may(vma)) {
		d->next = max(d->next, vma->vm_end);
		return true;
	}
	d->next = max(d->next, vma->vm_start);
	while (d->next < vma->vm_end) {
		if (drop_step_is_over(d))
			return false;
		d->next = drop_look(d, vma, d->next);
	}
	return true;
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
		if (!drop_vma(d, vma))
			return false;
	}
	return true;
}

/*
 * Law 15.  mmap lock held: nobody registers a notifier meanwhile.  The process may have begun to
 * run since it was found idle.
 */
static bool drop_mm_may(struct drop *d, const struct drop_call *call)
{
	unsigned int looked;

	if (mm_has_notifiers(d->mm) || check_stable_address_space(d->mm))
		return false;
	d->busy = !drop_mm_is_idle(d->mm, 1, call->before, &looked);
	return !d->busy || call->running;
}

enum drop_end {
	DROP_DONE,	/* all was looked at, or nothing may go */
	DROP_MORE,
	DROP_BUSY,	/* others have the mmap lock, or wait for it */
};

/*
 * The mm is used only while the task is not preempted.  Otherwise a process that exits would have
 * its files and its memory until this task, which cpu.max may throttle, runs again.
 */
static enum drop_end drop_step(struct drop *d, const struct drop_call *call)
{
	enum drop_end end = DROP_DONE;

	preempt_disable();
	if (mmget_not_zero(d->mm)) {
		end = DROP_BUSY;
		if (mmap_read_trylock(d->mm)) {
			end = !drop_mm_may(d, call) || drop_vmas(d) ? DROP_DONE : DROP_MORE;
			drop_flush(d);
			mmap_read_unlock(d->mm);
		}
		mmput_async(d->mm);
	}
	preempt_enable();
	return end;
}

/*
 * Returns whether the mm is done.  One whose lock cannot be had at once is passed over; one that
 * takes its lock in between is gone on with in the next call.
 */
static bool drop_mm(struct drop *d, const struct drop_call *call)
{
	enum drop_end end = drop_step(d, call);

	if (end == DROP_BUSY)
		return true;
	while (end == DROP_MORE && d->steps_left && d->drops_left) {
		cond_resched();
		end = drop_step(d, call);
	}
	return end == DROP_DONE;
}

/* Drop tables of the mms that were gathered.  @addr: where to begin in the first one. */
static void drop_mms(struct drop_call *call, struct drop *d, unsigned long addr)
{
	unsigned int i;
	bool done = true;

	d->next = call->nr && call->places[0] == call->from ? addr : 0;
	for (i = 0; i < call->nr && done; i++) {
		d->mm = call->mms[i];
		done = drop_mm(d, call);
		if (done)
			d->next = 0;
		else
			call->next = call->places[i];
		mmdrop(d->mm);
	}
	for (; i < call->nr; i++)
		mmdrop(call->mms[i]);
}

/**
 * drop_walk - go a bounded way over the processes of a group, and drop tables
 * @call: for which group, and whether for processes that run, or for idle ones
 * @d: for how many tables
 * @from: where to begin
 *
 * Takes the lock of the group's list of mms, and tries for their mmap locks.  No mm has a user
 * more while this task may be scheduled away.  Reschedules.
 *
 * Return: where to go on; the zero place if a round of the list has ended.
 */
struct drop_place drop_walk(struct drop_call *call, struct drop *d, struct drop_place from)
{
	call->from = from.mm;
	call->nr = 0;
	drop_gather(call);
	drop_mms(call, d, from.addr);
	return (struct drop_place){ .mm = call->next, .addr = d->next };
}
