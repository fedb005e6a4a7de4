// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dropping full page tables when memory is short: whose, and when.
 *
 * Page tables of a file that many processes map can be as large as the file.  Reclaim of stock
 * kernels leaves them: they are in no LRU list.  But where a table maps nothing but page cache, a
 * fault can build it again.  So tables that have not been used for a while are dropped: see
 * drop_table.c for what may go.
 *
 * When: page tables are a large share of the group's memory, or reclaim is desperate.  A written
 * table costs a fault for each of its entries to have back, and goes only when the priority of
 * reclaim has sunk.  Priorities mean different things to those who reclaim: MGLRU's kswapd begins
 * at 6 to 12, reclaim of a single node at 4.
 *
 * Whose: an mm is idle if no thread of its process runs or has begun to run lately; the scheduler
 * keeps the time (CONFIG_SCHED_INFO).  A thread that began to run long ago, and stopped a moment
 * ago, is taken for idle by mistake; that costs it faults.  Of a process that runs, old tables go
 * (drop_age.c): those that it has not used for as long as others must be idle; the larger their
 * share, the shorter.  MGLRU's list of a group's mms is kept up whether MGLRU is switched on or
 * not.
 *
 * How much: each call of reclaim looks at a bounded number of mms and tables, and the next one
 * goes on from there.  A group of which little can be dropped is left alone for a while.  As in
 * sweeps (tables_sweep.c), the mmap lock is only tried for, held with preemption disabled, and
 * released as soon as another task waits for it.
 */
#include <linux/hash.h>
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
#include "tables_kept.h"

/* In one call of reclaim at most: */
#define DROP_PLACES_MAX		4096	/* mms of the list that are passed; those behind never go */
#define DROP_LOOKS_MAX		64	/* mms that are looked at */
#define DROP_MMS_MAX		16	/* idle ones among them */
#define DROP_STEPS		4096	/* VMAs and places of tables */
#define DROP_STEPS_STAYED	16	/* that a table counts as which was looked at, and stays */
#define DROP_TABLES_MAX		64	/* tables that go; 16 times as many if it is desperate */

#define DROP_TABLES_MIN		32	/* an mm with fewer is not worth it */
#define DROP_THREADS_MAX	64	/* an mm with more is not idle */
#define DROP_DESPERATE		3	/* from this priority on, whatever share the tables have */
#define DROP_WRITTEN		5	/* from this priority on, written tables, too */
#define DROP_LONGEST_PAUSE	63
#define DROP_AGE_MIN		100	/* ms: what is used more often stays */
#define CURSOR_BITS		10

/*
 * Where the next call for a group and a node goes on.  Found by hash; hints, without a lock.
 *
 * @lruvec: of the group and the node, only to be compared: another one begins anew
 * @place: how many mms of the list to pass
 * @addr: where to begin in the next one
 * @looked, @dropped: tables, since the last round of the list began
 * @length, @left: of a pause: see drop_learn()
 * @running: this round looks at processes that run, too
 * @round: jiffies when such a round last began
 */
struct cursor {
	const struct lruvec *lruvec;
	unsigned int place;
	unsigned long addr;
	unsigned int looked, dropped;
	unsigned char length, left;
	bool running;
	unsigned long round;
};

static struct cursor cursors[1 << CURSOR_BITS];

static struct cursor *drop_cursor(const struct lruvec *lruvec)
{
	return &cursors[hash_ptr(lruvec, CURSOR_BITS)];
}

/**
 * struct drop_call - one call of reclaim for one group and one node
 * @memcg: the group
 * @before: of local_clock(): who has run since is not idle
 * @running: look at those who have, too
 * @from: pass so many mms of the list
 * @next: pass so many in the next call
 * @nr: how many elements of @mms are in use
 * @mms: to be looked at, each with a reference to its users
 * @places: their places in the list
 */
struct drop_call {
	struct mem_cgroup *memcg;
	u64 before;
	bool running;
	unsigned int from, next;
	unsigned int nr;
	struct mm_struct *mms[DROP_MMS_MAX];
	unsigned int places[DROP_MMS_MAX];
};

static bool drop_thread_is_idle(const struct task_struct *t, u64 before)
{
	return !task_is_running(t) && READ_ONCE(t->sched_info.last_arrival) < before;
}

/*
 * Whether no thread of the mm's process has run lately.  Who else uses the mm is not known: then
 * it is not idle.  @own: how many of its users are the caller.  RCU read lock held.
 */
static bool drop_threads_are_idle(const struct mm_struct *mm, int own, u64 before)
{
	struct task_struct *owner = rcu_dereference(mm->owner), *t;
	int nr = 0;

	if (!owner || atomic_read(&mm->mm_users) - own > get_nr_threads(owner))
		return false;
	for_each_thread(owner, t)
		if (nr++ == DROP_THREADS_MAX || !drop_thread_is_idle(t, before))
			return false;
	return true;
}

static bool drop_mm_is_idle(const struct mm_struct *mm, int own, u64 before)
{
	bool idle;

	/* For tests: even those that run. */
	if (!READ_ONCE(unmap_drop_idle_ms))
		return true;
	rcu_read_lock();
	idle = drop_threads_are_idle(mm, own, before);
	rcu_read_unlock();
	return idle;
}

/* Whether the mm may have tables that are worth dropping, and is idle or may run. */
static bool drop_wants_mm(const struct drop_call *call, struct mm_struct *mm)
{
	unsigned long pages = get_mm_counter(mm, MM_FILEPAGES) + get_mm_counter(mm, MM_SHMEMPAGES);

	if (pages < DROP_TABLES_MIN || mm_pgtables_bytes(mm) < DROP_TABLES_MIN * PAGE_SIZE)
		return false;
	unmap_count(UNMAP_STAT_DROP_MMS, 1);
	if (drop_mm_is_idle(mm, 0, call->before))
		return true;
	unmap_count(UNMAP_STAT_DROP_BUSY, 1);
	return call->running;
}

/* Look at an mm of the list.  Returns false if the call has all that it takes. */
static bool drop_gather_one(struct drop_call *call, struct mm_struct *mm, unsigned int place)
{
	if (drop_wants_mm(call, mm) && mmget_not_zero(mm)) {
		call->places[call->nr] = place;
		call->mms[call->nr++] = mm;
	}
	return call->nr < DROP_MMS_MAX;
}

/* Gather mms from @call->from on.  The lock of the list is held. */
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

/* The same; at the end of the list go on at its head. */
static void drop_gather(struct drop_call *call)
{
	struct lru_gen_mm_list *list = &call->memcg->mm_list;

	spin_lock(&list->lock);
	drop_gather_from(call, &list->fifo);
	if (!call->nr && !call->next && call->from) {
		call->from = 0;
		drop_gather_from(call, &list->fifo);
	}
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
	if (drop_is_wanted(d, pmd) && (!d->runs || drop_is_old(d, vma, pmd, addr))) {
		d->looked++;
		if (drop_table(d, pmd, addr)) {
			d->dropped++;
			d->drops_left--;
		} else {
			d->steps_left -= min(d->steps_left, DROP_STEPS_STAYED - 1);
		}
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
	if (mm_has_notifiers(d->mm) || check_stable_address_space(d->mm))
		return false;
	d->runs = !drop_mm_is_idle(d->mm, 1, call->before);
	return !d->runs || call->running;
}

/* Returns whether the mm is done: all was looked at, or it cannot be locked, or must stay. */
static bool drop_step(struct drop *d, const struct drop_call *call)
{
	bool done = true;

	preempt_disable();
	if (mmap_read_trylock(d->mm)) {
		done = !drop_mm_may(d, call) || drop_vmas(d);
		drop_flush(d);
		mmap_read_unlock(d->mm);
	}
	preempt_enable();
	return done;
}

static bool drop_mm(struct drop *d, const struct drop_call *call)
{
	bool done = drop_step(d, call);

	while (!done && d->steps_left && d->drops_left) {
		cond_resched();
		done = drop_step(d, call);
	}
	return done;
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
		mmput_async(d->mm);
	}
	for (; i < call->nr; i++)
		mmput_async(call->mms[i]);
}

/*
 * If little was dropped of what a round of the list has looked at, pause for 1, 3, 7, 15, 31, 63,
 * 63... calls.
 */
static void drop_learn(struct cursor *cursor)
{
	unsigned char length = 0;

	if (8 * READ_ONCE(cursor->dropped) <= READ_ONCE(cursor->looked))
		length = min(2 * READ_ONCE(cursor->length) + 1, DROP_LONGEST_PAUSE);
	WRITE_ONCE(cursor->length, length);
	WRITE_ONCE(cursor->left, length);
	WRITE_ONCE(cursor->looked, 0);
	WRITE_ONCE(cursor->dropped, 0);
}

static bool drop_pauses(const struct lruvec *lruvec)
{
	struct cursor *cursor = drop_cursor(lruvec);
	unsigned char left = READ_ONCE(cursor->left);

	if (READ_ONCE(cursor->lruvec) != lruvec || !left)
		return false;
	WRITE_ONCE(cursor->left, left - 1);
	return true;
}

/* Begin with a group that the cursor does not know. */
static void drop_take_cursor(struct cursor *cursor, const struct lruvec *lruvec)
{
	if (READ_ONCE(cursor->lruvec) == lruvec)
		return;
	WRITE_ONCE(cursor->lruvec, lruvec);
	WRITE_ONCE(cursor->place, 0);
	WRITE_ONCE(cursor->addr, 0);
	WRITE_ONCE(cursor->looked, 0);
	WRITE_ONCE(cursor->dropped, 0);
	WRITE_ONCE(cursor->length, 0);
	WRITE_ONCE(cursor->left, 0);
	WRITE_ONCE(cursor->running, false);
	WRITE_ONCE(cursor->round, jiffies);
}

/*
 * Whether the round looks at processes that run.  Looks at young tables end with a flush: at most
 * two in the time for which old tables have not been used.
 */
static bool drop_round_runs(struct cursor *cursor, unsigned long age)
{
	bool running;

	if (READ_ONCE(cursor->place) || READ_ONCE(cursor->addr))
		return READ_ONCE(cursor->running);
	running = time_after_eq(jiffies, READ_ONCE(cursor->round) + age / 2);
	if (running)
		WRITE_ONCE(cursor->round, jiffies);
	WRITE_ONCE(cursor->running, running);
	return running;
}

/* Remember where the next call goes on, and what this one has found. */
static void drop_leave_cursor(struct cursor *cursor, const struct drop_call *call,
			      const struct drop *d)
{
	WRITE_ONCE(cursor->place, call->next);
	WRITE_ONCE(cursor->addr, d->next);
	WRITE_ONCE(cursor->looked, READ_ONCE(cursor->looked) + d->looked);
	WRITE_ONCE(cursor->dropped, READ_ONCE(cursor->dropped) + d->dropped);
	if (!call->next && !d->next)
		drop_learn(cursor);
}

/*
 * Page tables in percent of the group's memory.  The root group has tables that are not charged.
 */
static unsigned int drop_share_of(struct mem_cgroup *memcg, int nid)
{
	unsigned long tables, memory;

	if (mem_cgroup_is_root(memcg)) {
		tables = node_page_state(NODE_DATA(nid), NR_PAGETABLE);
		memory = node_present_pages(nid);
	} else {
		tables = memcg_page_state(memcg, NR_PAGETABLE);
		memory = page_counter_read(&memcg->memory);
	}
	return min(tables * 100 / max(memory, 1UL), 100UL);
}

/*
 * How many ticks a table of a process that runs must have been unused: if the tables have twice
 * the share from which on they are dropped, a quarter of the time.
 */
static unsigned long drop_age(unsigned int share)
{
	unsigned int ms = READ_ONCE(unmap_drop_idle_ms), wanted = READ_ONCE(unmap_drop_share);
	u64 age = ms;

	if (share > wanted)
		age = div_u64(age * wanted * wanted, share * share);
	return msecs_to_jiffies(max_t(u64, age, min(ms, DROP_AGE_MIN)));
}

/* Of local_clock().  Right after boot nobody has been idle for long. */
static u64 drop_idle_before(void)
{
	u64 now = local_clock(), idle = (u64)READ_ONCE(unmap_drop_idle_ms) * NSEC_PER_MSEC;

	return now > idle ? now - idle : 0;
}

static void drop_begin(struct drop *d, int nid, int priority, unsigned int share)
{
	unmap_batch_begin(&d->batch, NULL, NULL);
	d->batch.by = TABLE_BY_DROP;
	d->batch.mmap_locked = true;
	d->nid = nid;
	d->age = drop_age(share);
	d->flush = false;
	d->looked = 0;
	d->dropped = 0;
	d->steps_left = DROP_STEPS;
	d->drops_left = DROP_TABLES_MAX * (priority <= DROP_DESPERATE ? 16 : 1);
}

/* Otherwise a group at its limit could be OOM-killed although memory is about to be freed. */
static void drop_await_room(const struct drop *d, struct mem_cgroup *memcg)
{
	if (d->dropped >= DROP_TABLES_MAX && current->mm && mm_match_cgroup(current->mm, memcg))
		unmap_grace_await_room();
}

static noinline void drop_for_group(struct lruvec *lruvec, struct mem_cgroup *memcg,
				    int priority, unsigned int share, bool written)
{
	struct cursor *cursor = drop_cursor(lruvec);
	struct drop_call call __uninitialized;
	struct drop d __uninitialized;

	drop_begin(&d, lruvec_pgdat(lruvec)->node_id, priority, share);
	d.written = written;
	drop_take_cursor(cursor, lruvec);
	call.memcg = memcg;
	call.before = drop_idle_before();
	call.running = drop_round_runs(cursor, d.age);
	call.from = READ_ONCE(cursor->place);
	call.nr = 0;
	drop_gather(&call);
	drop_mms(&call, &d, READ_ONCE(cursor->addr));
	drop_leave_cursor(cursor, &call, &d);
	unmap_count(UNMAP_STAT_DROP_LOOKED, d.looked);
	unmap_count(UNMAP_STAT_DROP_TABLES, d.dropped);
	mm_account_reclaimed_pages(d.dropped);
	drop_await_room(&d, memcg);
}

/**
 * unmap_drop_tables - reclaim full page tables of idle processes, and old ones of others
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
	bool written = priority <= DROP_WRITTEN && gfp & __GFP_FS;
	struct lruvec *lruvec;
	unsigned int share;

	if (!unmap_enabled(UNMAP_BIT_DROP) || !memcg || UNMAP_ARCH_TABLES_PINNED)
		return;
	lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));
	/* A pause was learned where written tables had to stay. */
	if (!written && drop_pauses(lruvec))
		return;
	share = drop_share_of(memcg, nid);
	/* drop_caches is desperate, too: its groups' statistics are not brought up to date. */
	if (priority > DROP_DESPERATE && share < READ_ONCE(unmap_drop_share))
		return;
	drop_for_group(lruvec, memcg, priority, share, written);
}
