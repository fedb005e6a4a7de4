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
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/swap.h>

#include "internal.h"
#include "table.h"
#include "tables_kept.h"

/* So many may always wait: who has no room for them is at its end anyway. */
#define FEW	64

static atomic_long_t waiting = ATOMIC_LONG_INIT(0);

/* They wait from now on, or (less than zero) no more. */
void unmap_tables_wait(long nr)
{
	atomic_long_add(nr, &waiting);
}

/* Whose groups had room, and in this tick have it until so many wait.  A hint. */
struct roomy {
	struct mm_struct *mm;
	unsigned long when;
	long until;
};

static DEFINE_PER_CPU(struct roomy, roomy);

static bool look_for_room(struct mm_struct *mm, long nr)
{
	if (nr >= compat_memcg_room(mm))
		return false;
	this_cpu_write(roomy.mm, mm);
	this_cpu_write(roomy.when, jiffies);
	this_cpu_write(roomy.until, nr + FEW);
	return true;
}

/* Whether the groups of an mm have room for more tables that wait.  Any lock may be held. */
bool unmap_tables_have_room(struct mm_struct *mm)
{
	long nr = atomic_long_read(&waiting);

	if (likely(nr < FEW))
		return true;
	if (this_cpu_read(roomy.mm) == mm && nr < this_cpu_read(roomy.until) &&
	    !time_after(jiffies, this_cpu_read(roomy.when)))
		return true;
	return look_for_room(mm, nr);
}

/*
 * Reclaim has given back tables of an mm.  If it was asked for room in their group it would
 * find nothing else, and have somebody killed, before they come free.
 */
void unmap_tables_await_room(struct mm_struct *mm)
{
	unsigned long end = jiffies + HZ / 10;

	if (current_is_kswapd() || !current->mm)
		return;
	while (atomic_long_read(&waiting) >= FEW && time_before(jiffies, end) &&
	       compat_memcg_room(mm) < FEW && compat_memcg_room(current->mm) < FEW)
		if (schedule_timeout_killable(1))
			break;
}
