// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shrinker frees page tables that wait when memory is short: tables of all processes, or those
 * of a control group that is at its limit.
 *
 * Page tables are charged as kernel memory.  If kernel memory is not charged
 * (cgroup.memory=nokmem), reclaim of a group does not call this shrinker.
 */
#include <linux/init.h>
#include <linux/list_lru.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/shrinker.h>
#include <linux/swap.h>

#include "../internal.h"
#include "tables_wait.h"

/* So many unhooked tables that reclaim waits for them as a rule: see also reclaim.c. */
#define MANY	64

/* How many tables are looked at in one call. */
#define BATCH	32UL

/*
 * With seeks == 0 reclaim scans half of what is counted, and nothing if that is less than a
 * batch: so that few tables are looked at, too, they are counted as two batches.
 */
static unsigned long shrink_count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long nr = list_lru_shrink_count(&unmap_waiting, sc);

	if (!nr)
		return SHRINK_EMPTY;
	return unmap_tables_enabled() ? max(nr, 2 * BATCH) : 0;
}

static unsigned long shrink_scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned int freed = 0;
	bool more = unmap_waiting_free(sc->nid, sc->memcg, sc->nr_to_scan, 1, TABLE_BY_SHRINKER,
				       &freed);

	sc->nr_scanned = sc->nr_to_scan;
	mm_account_reclaimed_pages(freed);
	/* Without __GFP_FS, others may need what the caller has locked. */
	if (freed && sc->gfp_mask & __GFP_FS)
		unmap_grace_await_room(MANY);
	return freed || more ? freed : SHRINK_STOP;
}

int __init unmap_shrinker_init(void)
{
	struct shrinker *shrinker;
	int err;

	shrinker = shrinker_alloc(SHRINKER_MEMCG_AWARE | SHRINKER_NUMA_AWARE,
				  "unmap-tables");
	if (!shrinker)
		return -ENOMEM;
	err = list_lru_init_memcg(&unmap_waiting, shrinker);
	if (err) {
		shrinker_free(shrinker);
		return err;
	}
	shrinker->count_objects = shrink_count;
	shrinker->scan_objects = shrink_scan;
	/* To allocate a table again takes no I/O. */
	shrinker->seeks = 0;
	shrinker->batch = BATCH;
	shrinker_register(shrinker);
	return 0;
}
