// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is left to do when reclaim finds nothing else: free empty tables that the policy "pressure"
 * has kept, however young they are, and wait for tables that are about to be freed.
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

#include "../internal.h"
#include "table.h"
#include "tables_kept.h"

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
 * unmap_urgent_reclaim - free empty tables, however young, and wait for those that are being freed
 * @gfp: what reclaim may do
 * @nid: the memory node that is reclaimed
 * @memcg: the group that is reclaimed, without those below; null: none
 *
 * Locks as in unmap_shrink_slab().
 */
void unmap_urgent_reclaim(gfp_t gfp, int nid, struct mem_cgroup *memcg)
{
	unmap_kept_shrink_all(nid, memcg);
	if (!urgent_for_current(gfp, memcg))
		return;
	unmap_grace_await_room(1);
	unmap_sweep_own();
}
