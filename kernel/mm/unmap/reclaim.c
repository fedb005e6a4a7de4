// SPDX-License-Identifier: GPL-2.0-only
/*
 * What reclaim does about page tables.  Full ones first.  When it finds nothing else: free empty
 * ones that wait, however young they are, and wait for those that are about to be freed.
 *
 * Unhooked tables wait for their grace period, and stay charged meanwhile.  The next pass of
 * reclaim finds nothing, and a process of a group at its limit would be OOM-killed although the
 * memory is a few milliseconds away.
 */
#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unmap.h>

#include "drop/drop.h"
#include "internal.h"
#include "tables/table.h"
#include "tables/tables_wait.h"

/*
 * Whether this task may be killed for lack of memory in the group, which is its own or one above.
 * Charges with __GFP_NORETRY fail instead.
 */
static bool urgent_for_current(gfp_t gfp, struct mem_cgroup *memcg)
{
	return !(gfp & __GFP_NORETRY) && current->mm && memcg &&
	       mm_match_cgroup(current->mm, memcg);
}

/**
 * unmap_shrink_slab - reclaim page tables: full ones, and if memory is very short empty ones
 * @gfp: what reclaim may do
 * @nid: the memory node that is reclaimed
 * @memcg: the group that is reclaimed, without those below; null: none
 * @priority: reclaim's; 0 is the most urgent: the next pass would end in an OOM kill.  drop_caches
 *	and memory.reclaim that does not find enough come to 0, too, kswapd does not
 *
 * Called by shrink_slab().  The caller may hold any lock with which memory may be reclaimed, an
 * mmap lock among them.  Reschedules.  At priority 0 it may sleep for a tenth of a second, whatever
 * @gfp says, if the task's group is at its limit: charges without __GFP_FS end in an OOM kill, too.
 */
void unmap_shrink_slab(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority)
{
	if (IS_ENABLED(CONFIG_UNMAP_DROP))
		unmap_drop_tables(gfp, nid, memcg, priority);
	if (likely(priority) || !unmap_tables_enabled())
		return;
	unmap_free_all_waiting(nid, memcg);
	if (urgent_for_current(gfp, memcg))
		unmap_grace_await_room(1);
}
