// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unhooked page tables that wait for their grace period.
 *
 * They are still charged, and cannot be reclaimed.  A task that keeps filling and emptying
 * tables can unhook more of them in one grace period than a small control group has room
 * for, and would be OOM-killed although that memory is about to be freed.  So when waiting
 * tables would fill the room that a group has left, further empty tables are not unhooked
 * for a while: if they are filled again, they cost nothing.
 */
#include <linux/array_size.h>
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/swap.h>

#include "../internal.h"
#include "table.h"
#include "tables_wait.h"

/* This many tables may always wait: a group without room for them is lost anyway. */
#define FEW	64

/* A group's counter is found by hash.  Two groups may share one, as it is only a hint. */
#define SLOT_BITS	8

static atomic_long_t waiting[1 << SLOT_BITS];

static unsigned int grace_slot_of(struct mm_struct *mm)
{
	unsigned int slot;

	rcu_read_lock();
	slot = hash_ptr(unmap_memcg_of(mm), SLOT_BITS);
	rcu_read_unlock();
	return slot;
}

/**
 * unmap_grace_begin - count tables that begin to wait for their grace period
 * @mm: the mm of the tables
 * @nr: how many tables
 *
 * Any lock may be held.
 *
 * Return: the slot to pass to unmap_grace_end().
 */
unsigned int unmap_grace_begin(struct mm_struct *mm, long nr)
{
	unsigned int slot = grace_slot_of(mm);

	atomic_long_add(nr, &waiting[slot]);
	return slot;
}

/* The grace period of @nr tables is over.  @slot is what unmap_grace_begin() returned. */
void unmap_grace_end(unsigned int slot, long nr)
{
	atomic_long_sub(nr, &waiting[slot]);
}

/*
 * The result of the last check, cached on each CPU: in the tick @when, the groups of @mm had
 * room as long as fewer than @until tables wait.  A hint, which needs no lock.
 */
struct roomy {
	struct mm_struct *mm;
	unsigned long when;
	long until;
};

static DEFINE_PER_CPU(struct roomy, roomy);

static bool grace_look_for_room(struct mm_struct *mm, long nr)
{
	if (nr >= unmap_memcg_room(mm))
		return false;
	this_cpu_write(roomy.mm, mm);
	this_cpu_write(roomy.when, jiffies);
	this_cpu_write(roomy.until, nr + FEW);
	return true;
}

static bool grace_slot_has_room(struct mm_struct *mm, unsigned int slot)
{
	long nr = atomic_long_read(&waiting[slot]);

	if (likely(nr < FEW))
		return true;
	if (this_cpu_read(roomy.mm) == mm && nr < this_cpu_read(roomy.until) &&
	    !time_after(jiffies, this_cpu_read(roomy.when)))
		return true;
	return grace_look_for_room(mm, nr);
}

/* Whether the groups of @mm have room for more waiting tables.  Any lock may be held. */
bool unmap_grace_has_room(struct mm_struct *mm)
{
	return grace_slot_has_room(mm, grace_slot_of(mm));
}

/**
 * unmap_grace_try_begin - as unmap_grace_begin(), for one table, if there is room for it
 * @mm: the mm of the table
 *
 * Return: the slot, or -1.
 */
int unmap_grace_try_begin(struct mm_struct *mm)
{
	unsigned int slot = grace_slot_of(mm);

	if (!grace_slot_has_room(mm, slot))
		return -1;
	atomic_long_inc(&waiting[slot]);
	return slot;
}

/* How many tables of all groups wait. */
static long grace_waiting(void)
{
	unsigned int slot;
	long nr = 0;

	for (slot = 0; slot < ARRAY_SIZE(waiting); slot++)
		nr += atomic_long_read(&waiting[slot]);
	return nr;
}

/**
 * unmap_grace_await_room - let tables be freed for which a group at its limit waits
 * @few: so many tables are worth a wait
 *
 * Reclaim calls this when it has unhooked tables, or finds nothing else.  If the group of the
 * reclaiming task, or one above, has hardly any room, and @few or more tables wait for their grace
 * period, wait until they are freed: otherwise a process would be OOM-killed.  The tables may be
 * those of any group below the one at its limit.  Waits for one grace period, for at most a tenth
 * of a second, or until there is room.  Tables that an mmu_gather frees are not counted.
 */
void unmap_grace_await_room(long few)
{
	unsigned long end = jiffies + HZ / 10, cookie;

	if (current_is_kswapd() || !current->mm || unmap_memcg_room(current->mm) >= FEW ||
	    grace_waiting() < few)
		return;
	cookie = start_poll_synchronize_rcu();
	while (!poll_state_synchronize_rcu(cookie) && time_before(jiffies, end) &&
	       grace_waiting() >= few && unmap_memcg_room(current->mm) < FEW)
		if (schedule_timeout_killable(1))
			break;
}
