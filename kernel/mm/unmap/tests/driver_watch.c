// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests: stops a task after one of its accesses to a PMD, until another thread has
 * freed the page table.
 *
 * Hardware breakpoints on the PMD and on its lock trap after each access, in stock code as
 * in ours.  So no window has to be built into the code, and a test can stop a reader after
 * each of its accesses in turn, whatever the compiler made of them.  The breakpoint on the
 * lock stops code that has just installed a table and dropped the lock.  The stopped task
 * spins where it was, with interrupts off and holding whatever locks it holds.  If the other
 * thread needs one of those locks, the table stays, and the stopped task continues after the
 * time limit.
 *
 * A third breakpoint, on the entry of the watched address, tells whether the task looks into
 * the table after that is gone.
 */
#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "../internal.h"
#include "driver_watch.h"

enum { IDLE, STOPPED, HELP_COMES, ENDED };

#define WAIT_MAX	1000000U		/* microseconds */

static bool is_gone(const struct watch *w)
{
	return pmd_none(pmdp_get_lockless(w->pmd));
}

static void stop(struct watch *w)
{
	unsigned int us;

	atomic_set(&w->state, STOPPED);
	for (us = 0; us < min(w->want.us, WAIT_MAX) && !is_gone(w); us++)
		udelay(1);
	w->seen.gone = is_gone(w);
	w->seen.helped = atomic_xchg(&w->state, IDLE) == HELP_COMES;
}

static void looked(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs)
{
	struct watch *w = event->overflow_handler_context;

	if (!is_gone(w) && ++w->seen.looks == w->want.look)
		stop(w);
}

static struct perf_event *break_at(struct watch *w, void *where, int len,
				   perf_overflow_handler_t handler)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)where;
	attr.bp_len = len;
	attr.bp_type = HW_BREAKPOINT_RW;
	return register_user_hw_breakpoint(&attr, handler, w, current);
}

static void touched(struct perf_event *event, struct perf_sample_data *data,
		    struct pt_regs *regs)
{
	struct watch *w = event->overflow_handler_context;

	w->seen.touched += is_gone(w);
}

/*
 * Finds the PMD whether or not it holds a table.  Null if there is no VMA, or no page of
 * PMDs because nothing was mapped below the PUD before.
 */
static pmd_t *find_pmd(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	if (!find_vma_intersection(mm, addr, addr + 1) || pgd_none_or_clear_bad(pgd))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none_or_clear_bad(p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	return pud_none_or_clear_bad(pud) ? NULL : pmd_offset(pud, addr);
}

static int break_at_both(struct watch *w)
{
	raw_spinlock_t *lock = &pmd_lockptr(current->mm, w->pmd)->rlock;

	w->event[0] = break_at(w, w->pmd, HW_BREAKPOINT_LEN_8, looked);
	if (IS_ERR(w->event[0]))
		return PTR_ERR(w->event[0]);
	w->event[1] = break_at(w, &lock->raw_lock, HW_BREAKPOINT_LEN_4, looked);
	return PTR_ERR_OR_ZERO(w->event[1]);
}

/* The breakpoint is on the table that the PMD holds now, if it holds one. */
static int break_at_entry(struct watch *w)
{
	pmd_t pmd = pmdp_get_lockless(w->pmd);
	pte_t *table;

	if (pmd_none(pmd) || pmd_leaf(pmd))
		return 0;
	table = (pte_t *)pmd_page_vaddr(pmd);
	w->event[2] = break_at(w, table + pte_index(w->want.addr), HW_BREAKPOINT_LEN_8, touched);
	return PTR_ERR_OR_ZERO(w->event[2]);
}

/**
 * unmap_watch_begin - watch the calling task's accesses to a PMD
 * @w: a watch that has no breakpoints
 * @want: which PMD, and when to stop the task
 *
 * The caller makes sure that the memory stays mapped until unmap_watch_end().  No lock is
 * held on entry and return; the mmap lock is taken and dropped.
 */
int unmap_watch_begin(struct watch *w, const struct unmap_driver_watch *want)
{
	int err;

	mmap_read_lock(current->mm);
	w->pmd = find_pmd(current->mm, want->addr);
	mmap_read_unlock(current->mm);
	if (!w->pmd)
		return -ENXIO;
	w->want = *want;
	w->seen = (struct unmap_driver_watched){};
	atomic_set(&w->state, IDLE);
	err = break_at_both(w) ?: break_at_entry(w);
	if (err)
		unmap_watch_end(w);
	return err;
}

/* Stop watching the task: remove the breakpoints. */
void unmap_watch_end(struct watch *w)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(w->event); i++) {
		if (!IS_ERR_OR_NULL(w->event[i]))
			unregister_hw_breakpoint(w->event[i]);
		w->event[i] = NULL;
	}
}

/*
 * Wait until the watched task is stopped; called by another thread, which must be quick
 * once that has happened, and so does not sleep.
 */
int unmap_watch_await(struct watch *w)
{
	while (atomic_cmpxchg(&w->state, STOPPED, HELP_COMES) != STOPPED) {
		if (atomic_read(&w->state) == ENDED)
			return -ESHUTDOWN;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
		cpu_relax();
	}
	return 0;
}

/* End the watch: a thread that waits in unmap_watch_await() returns with -ESHUTDOWN. */
void unmap_watch_close(struct watch *w)
{
	unmap_watch_end(w);
	atomic_set(&w->state, ENDED);
}
