// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables that were given back, and wait for their grace period.
 *
 * They are still charged, and cannot be reclaimed.  A task that fills and empties tables
 * without end makes more of them in one grace period than a small control group has room
 * for, and would be killed for what is about to come free.  So where they would fill the
 * room that a group has left, empty tables stay where they are for a while: filled again,
 * they cost nothing.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/swap.h>

#include "internal.h"
#include "table.h"
#include "tables_kept.h"

/* So many may always wait: who has no room for them is at its end anyway. */
#define FEW	64

/* Groups share a number now and then: a hint is all that it is for. */
#define SLOT_BITS	8

static atomic_long_t waiting[1 << SLOT_BITS];

static unsigned int grace_slot_of(struct mm_struct *mm)
{
	unsigned int slot;

	rcu_read_lock();
	slot = hash_ptr(compat_memcg_of(mm), SLOT_BITS);
	rcu_read_unlock();
	return slot;
}

/**
 * unmap_grace_begin - tables wait for their grace period
 * @mm: theirs
 * @nr: how many
 *
 * Return: what unmap_grace_end() is to be told.  Any lock may be held.
 */
unsigned int unmap_grace_begin(struct mm_struct *mm, long nr)
{
	unsigned int slot = grace_slot_of(mm);

	atomic_long_add(nr, &waiting[slot]);
	return slot;
}

/* They wait no more. */
void unmap_grace_end(unsigned int slot, long nr)
{
	atomic_long_sub(nr, &waiting[slot]);
}

/* Of an mm's group, so many that they would be missed. */
bool unmap_grace_many(struct mm_struct *mm)
{
	return atomic_long_read(&waiting[grace_slot_of(mm)]) >= FEW;
}

/* Whose groups had room, and in this tick have it until so many wait.  A hint. */
struct roomy {
	struct mm_struct *mm;
	unsigned long when;
	long until;
};

static DEFINE_PER_CPU(struct roomy, roomy);

static bool grace_look_for_room(struct mm_struct *mm, long nr)
{
	if (nr >= compat_memcg_room(mm))
		return false;
	this_cpu_write(roomy.mm, mm);
	this_cpu_write(roomy.when, jiffies);
	this_cpu_write(roomy.until, nr + FEW);
	return true;
}

/* Whether the groups of an mm have room for more tables that wait.  Any lock may be held. */
bool unmap_grace_has_room(struct mm_struct *mm)
{
	long nr = atomic_long_read(&waiting[grace_slot_of(mm)]);

	if (likely(nr < FEW))
		return true;
	if (this_cpu_read(roomy.mm) == mm && nr < this_cpu_read(roomy.until) &&
	    !time_after(jiffies, this_cpu_read(roomy.when)))
		return true;
	return grace_look_for_room(mm, nr);
}

/*
 * Reclaim has given back many tables.  If it was asked for room in the caller's group it
 * would find nothing else, and have somebody killed, before they come free: that takes a
 * grace period, and no longer is waited.
 */
void unmap_grace_await_room(void)
{
	unsigned long cookie = get_state_synchronize_rcu();
	unsigned long end = jiffies + HZ / 10;

	if (current_is_kswapd() || !current->mm)
		return;
	while (!poll_state_synchronize_rcu(cookie) && time_before(jiffies, end) &&
	       compat_memcg_room(current->mm) < FEW)
		if (schedule_timeout_killable(1))
			break;
}
