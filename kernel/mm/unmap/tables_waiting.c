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
#include <linux/memcontrol.h>
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

/* Whether the groups of an mm have room for more tables that wait.  Any lock may be held. */
bool unmap_tables_have_room(struct mm_struct *mm)
{
	long nr = atomic_long_read(&waiting);

	return likely(nr < FEW) || nr < compat_memcg_room(mm);
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
