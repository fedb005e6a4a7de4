// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dropping full page tables when memory is short: when, and how much.
 *
 * Page tables of a file that many processes map can be as large as the file.  Reclaim of stock
 * kernels leaves them: they are in no LRU list.  But where a table maps nothing but page cache, a
 * fault can build it again.  So tables that have not been used for a while are dropped: see
 * drop_table.c for what may go, drop_walk.c for whose, drop_age.c for what is old.
 *
 * When: page tables are a large share of the group's memory, or reclaim is desperate.  A written
 * table costs a fault for each of its entries to have back, and goes only when the priority of
 * reclaim has sunk.  Priorities mean different things to those who reclaim: MGLRU's kswapd begins
 * at 6 to 12, reclaim of a single node at 4.
 *
 * How much: each call of reclaim walks a bounded way over the group's processes and their tables,
 * and the next one goes on from there; first over those that are idle, then over those that run.
 * The first way rests for a while if little of what it found could be dropped.  The second way
 * costs TLB flushes of running processes, so it begins at most once in an interval of time.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/swap.h>
#include <linux/unmap.h>
#include <linux/vmstat.h>

#include "drop.h"
#include "../internal.h"
#include "../knobs.h"
#include "../stat.h"
#include "../tables/tables_wait.h"

/* In one call of reclaim at most: */
#define DROP_STEPS		4096	/* VMAs and places of tables, on each of the two ways */
#define DROP_TABLES_MAX		64	/* tables that go, if full; 16 times as many if desperate */

#define DROP_DESPERATE		3	/* from this priority on, whatever share the tables have */
#define DROP_WRITTEN		5	/* from this priority on, written tables, too */
#define DROP_LONGEST_PAUSE	63
#define DROP_AGE_MIN		100	/* ms: what is used more often stays */
#define DROP_AGE_MAX		(3600 * MSEC_PER_SEC)	/* ms: no longer is a look remembered */
#define CURSOR_BITS		10

/*
 * Where the next call for a group and a node goes on.  Found by hash; hints, without a lock.
 *
 * @lruvec: of the group and the node, only to be compared: another one begins anew
 * @idle: the way over idle processes
 * @looked, @dropped: tables on that way, since the last round of the list began
 * @length, @left: of a pause: see drop_learn()
 * @running: the way over processes that run
 * @round: jiffies when the last round of that way began
 * @due: jiffies when the next walk of that way may begin; another lruvec that takes over this
 *	cursor inherits it
 */
struct cursor {
	const struct lruvec *lruvec;
	struct drop_place idle, running;
	unsigned int looked, dropped;
	unsigned char length, left;
	unsigned long round, due;
};

static struct cursor cursors[1 << CURSOR_BITS];

static void drop_set_place(struct drop_place *place, struct drop_place value)
{
	WRITE_ONCE(place->mm, value.mm);
	WRITE_ONCE(place->addr, value.addr);
}

static bool drop_at_start(const struct drop_place *place)
{
	return !READ_ONCE(place->mm) && !READ_ONCE(place->addr);
}

/* If little was dropped of what a round of the list has looked at, pause for some calls. */
static void drop_learn(struct cursor *cursor)
{
	bool failed = 8 * READ_ONCE(cursor->dropped) <= READ_ONCE(cursor->looked);
	unsigned char length = unmap_pause_after(failed, READ_ONCE(cursor->length),
						 DROP_LONGEST_PAUSE);

	WRITE_ONCE(cursor->length, length);
	WRITE_ONCE(cursor->left, length);
	WRITE_ONCE(cursor->looked, 0);
	WRITE_ONCE(cursor->dropped, 0);
}

static bool drop_pauses(struct cursor *cursor)
{
	unsigned char left = READ_ONCE(cursor->left);

	if (!left)
		return false;
	WRITE_ONCE(cursor->left, left - 1);
	return true;
}

/* The cursor of a group and a node.  One that belonged to others begins anew. */
static struct cursor *drop_cursor(const struct lruvec *lruvec)
{
	struct cursor *cursor = &cursors[hash_ptr(lruvec, CURSOR_BITS)];

	if (READ_ONCE(cursor->lruvec) == lruvec)
		return cursor;
	WRITE_ONCE(cursor->lruvec, lruvec);
	drop_set_place(&cursor->idle, (struct drop_place){});
	drop_set_place(&cursor->running, (struct drop_place){});
	WRITE_ONCE(cursor->looked, 0);
	WRITE_ONCE(cursor->dropped, 0);
	WRITE_ONCE(cursor->length, 0);
	WRITE_ONCE(cursor->left, 0);
	return cursor;
}

static void drop_walk_idle(struct cursor *cursor, struct drop_call *call, struct drop *d)
{
	call->running = false;
	drop_set_place(&cursor->idle, drop_walk(call, d, cursor->idle));
	WRITE_ONCE(cursor->looked, READ_ONCE(cursor->looked) + d->looked);
	WRITE_ONCE(cursor->dropped, READ_ONCE(cursor->dropped) + d->dropped);
	if (drop_at_start(&cursor->idle))
		drop_learn(cursor);
}

/* Only where looks are of use. */
static bool drop_running_is_due(const struct cursor *cursor)
{
	return arch_has_hw_nonleaf_pmd_young() && time_after_eq(jiffies, READ_ONCE(cursor->due));
}

/*
 * Each walk may flush the TLBs of processes, so there are a hundred in a second at most; and a
 * table is looked at twice at most in the time for which it must be unused, or in a tenth of a
 * second.
 */
static void drop_set_due(struct cursor *cursor, unsigned long age)
{
	unsigned long due = jiffies + DIV_ROUND_UP(HZ, 100);
	unsigned long next = READ_ONCE(cursor->round) + max(age / 2, HZ / 20UL);

	if (drop_at_start(&cursor->running) && time_after(next, due))
		due = next;
	WRITE_ONCE(cursor->due, due);
}

static void drop_walk_running(struct cursor *cursor, struct drop_call *call, struct drop *d)
{
	/* Others who reclaim the group do not do the same meanwhile. */
	WRITE_ONCE(cursor->due, jiffies + DIV_ROUND_UP(HZ, 100));
	if (drop_at_start(&cursor->running))
		WRITE_ONCE(cursor->round, jiffies);
	call->running = true;
	d->steps_left = DROP_STEPS;
	drop_set_place(&cursor->running, drop_walk(call, d, cursor->running));
	drop_set_due(cursor, d->age);
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
	age = clamp_t(u64, age, min(ms, DROP_AGE_MIN), DROP_AGE_MAX);
	return msecs_to_jiffies(age);
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
	d->drops_left = DROP_TABLES_MAX * PTRS_PER_PTE * (priority <= DROP_DESPERATE ? 16 : 1);
}

/* Otherwise a group at its limit could be OOM-killed although memory is about to be freed. */
static void drop_await_room(const struct drop *d, struct mem_cgroup *memcg, int priority,
			    gfp_t gfp)
{
	if (priority <= DROP_DESPERATE && d->dropped >= DROP_TABLES_MAX && gfp & __GFP_FS &&
	    current->mm && mm_match_cgroup(current->mm, memcg))
		unmap_grace_await_room(DROP_TABLES_MAX);
}

/* What unmap_drop_tables() does once it is clear that tables may go. */
static noinline void drop_for_group(struct lruvec *lruvec, struct mem_cgroup *memcg,
				    int priority, unsigned int share, gfp_t gfp)
{
	bool written = priority <= DROP_WRITTEN && gfp & __GFP_FS;
	struct cursor *cursor = drop_cursor(lruvec);
	/* A pause was learned where written tables had to stay. */
	bool idle = written || !drop_pauses(cursor), running = drop_running_is_due(cursor);
	struct drop_call call __uninitialized;
	struct drop d __uninitialized;

	if (!idle && !running)
		return;
	drop_begin(&d, lruvec_pgdat(lruvec)->node_id, priority, share);
	d.written = written;
	call.memcg = memcg;
	call.before = drop_idle_before();
	if (idle)
		drop_walk_idle(cursor, &call, &d);
	if (running && d.drops_left)
		drop_walk_running(cursor, &call, &d);
	unmap_count(UNMAP_STAT_DROP_LOOKED, d.looked);
	unmap_count(UNMAP_STAT_DROP_TABLES, d.dropped);
	mm_account_reclaimed_pages(d.dropped);
	drop_await_room(&d, memcg, priority, gfp);
}

/**
 * unmap_drop_tables - reclaim full page tables of idle processes, and old ones of others
 * @gfp: what reclaim may do
 * @nid: the memory node of the tables that are wanted
 * @memcg: the group whose processes are looked at, not those of groups below; null: none
 * @priority: reclaim's; 0 is the most urgent
 *
 * Called by unmap_shrink_slab(), with the same locks.  Reschedules; if @gfp has __GFP_FS, may
 * sleep.
 */
void unmap_drop_tables(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority)
{
	unsigned int share;

	if (!unmap_enabled(UNMAP_BIT_DROP) || !memcg || UNMAP_ARCH_TABLES_PINNED)
		return;
	share = drop_share_of(memcg, nid);
	/* drop_caches is desperate, too: its groups' statistics are not brought up to date. */
	if (priority > DROP_DESPERATE && share < READ_ONCE(unmap_drop_share))
		return;
	drop_for_group(mem_cgroup_lruvec(memcg, NODE_DATA(nid)), memcg, priority, share, gfp);
}
