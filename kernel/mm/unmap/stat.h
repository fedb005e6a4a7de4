/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts since boot, for /sys/kernel/mm/unmap/stat: see stat.c. */
#ifndef __MM_UNMAP_STAT_H
#define __MM_UNMAP_STAT_H

#include <linux/log2.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>

enum unmap_stat_item {
	UNMAP_STAT_EVICT_MORE,	/* entries beyond each run's first */
	UNMAP_STAT_PUT_BACK_RUNS,
	UNMAP_STAT_PUT_BACK_ENTRIES,
	UNMAP_STAT_FLUSHES,
	UNMAP_STAT_FLUSHES_DEFERRED,
	UNMAP_STAT_DISCARD_RUNS,
	UNMAP_STAT_DISCARD_ENTRIES,
	UNMAP_STAT_DISCARD_FLUSHES,
	UNMAP_STAT_TABLES_NOTICED,
	UNMAP_STAT_TABLES_FREED,
	UNMAP_STAT_TABLES_WAITED,
	UNMAP_STAT_TABLES_CAME_BACK,
	UNMAP_STAT_AGED_RUNS,
	UNMAP_STAT_AGED_ENTRIES,
	UNMAP_STAT_AHEAD_STRETCHES,
	UNMAP_STAT_AHEAD_FOLIOS,
	UNMAP_STAT_AHEAD_PUT_BACK,
	UNMAP_STAT_AHEAD_MISSED,
	UNMAP_STAT_AHEAD_HOT,
	UNMAP_STAT_AHEAD_SLOTS,
	UNMAP_STAT_AHEAD_LISTED,
	UNMAP_STAT_DROP_MMS,
	UNMAP_STAT_DROP_BUSY,
	UNMAP_STAT_DROP_YOUNG,
	UNMAP_STAT_DROP_OLD,
	UNMAP_STAT_DROP_LOOKED,
	UNMAP_STAT_DROP_TABLES,
	UNMAP_STAT_DROP_ENTRIES,
	UNMAP_STAT_DROP_KEPT_VMA,
	UNMAP_STAT_DROP_KEPT_ENTRY,
	UNMAP_STAT_RELOCATE_RUNS,
	UNMAP_STAT_RELOCATE_ENTRIES,
	UNMAP_STAT_RELOCATE_PINNED,
	UNMAP_STAT_BACK_RUNS,
	UNMAP_STAT_BACK_ENTRIES,
	UNMAP_STAT_SPLIT_WALKS,
	UNMAP_STAT_BATCHES,
	UNMAP_STAT_BATCH_PAGES,
	UNMAP_STAT_BATCHES_BACK,
	UNMAP_STAT_BATCH_PAGES_BACK,
	NR_UNMAP_STATS,
};

#define UNMAP_RUN_ORDERS	(const_ilog2(MAX_PTRS_PER_PTE) + 1)

struct unmap_stats {
	unsigned long item[NR_UNMAP_STATS];
	unsigned long run_order[UNMAP_RUN_ORDERS];
};

DECLARE_PER_CPU(struct unmap_stats, unmap_stats);

static inline void unmap_count(enum unmap_stat_item item, unsigned long nr)
{
	this_cpu_add(unmap_stats.item[item], nr);
}

/* Count an evicted run in the histogram of run lengths. */
static inline void unmap_count_run(unsigned int nr)
{
	if (nr == 1) {
		this_cpu_inc(unmap_stats.run_order[0]);
		return;
	}
	unmap_count(UNMAP_STAT_EVICT_MORE, nr - 1);
	this_cpu_inc(unmap_stats.run_order[ilog2(nr)]);
}

int unmap_stat_show(char *buf);

#endif /* __MM_UNMAP_STAT_H */
