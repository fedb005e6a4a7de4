// SPDX-License-Identifier: GPL-2.0-only
/* What reclaim does about page tables: full ones first, then empty ones that wait. */
#include <linux/mm.h>
#include <linux/unmap.h>

#include "drop/drop.h"
#include "internal.h"
#include "tables/table.h"

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
	unmap_drop_tables(gfp, nid, memcg, priority);
	if (unlikely(!priority) && unmap_tables_enabled())
		unmap_urgent_reclaim(gfp, nid, memcg);
}
