// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is left to do before a process is OOM-killed: free empty tables however young they are, and
 * wait for those that are about to be freed.
 *
 * Unhooked tables wait for their grace period, and stay charged meanwhile.  Reclaim has counted
 * them as freed, finds nothing else in its next pass, and would give up although the memory is a
 * few milliseconds away.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/unmap.h>

#include "drop.h"
#include "internal.h"
#include "table.h"
#include "tables_kept.h"

/* From this priority of reclaim on; kswapd comes down to 1, others to 0, and so does drop_caches. */
#define URGENT	1

/**
 * unmap_shrink_slab - reclaim page tables: full ones, and if memory is very short all empty ones
 * @gfp: what reclaim may do
 * @nid: the memory node that is reclaimed
 * @memcg: the group that is reclaimed, without those below; null: none
 * @priority: reclaim's; 0 is the most urgent
 *
 * Called by shrink_slab().  The caller may hold any lock with which memory may be reclaimed, an
 * mmap lock among them.  Reschedules; if @gfp has __GFP_FS, may sleep for a tenth of a second.
 */
void unmap_shrink_slab(gfp_t gfp, int nid, struct mem_cgroup *memcg, int priority)
{
	unmap_drop_tables(gfp, nid, memcg, priority);
	if (priority > URGENT || !unmap_tables_enabled())
		return;
	unmap_kept_shrink_all(nid, memcg);
	unmap_sweep_own();
	unmap_grace_await_room(gfp, 1);
}
