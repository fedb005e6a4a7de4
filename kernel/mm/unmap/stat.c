// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters: per CPU, without locks, added up when read.
 *
 * evict_runs and evict_entries have no counters of their own: the first is the sum
 * of the histogram of run lengths, the second adds UNMAP_STAT_EVICT_MORE to it.
 */
#include <linux/percpu.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "stat.h"

DEFINE_PER_CPU(struct unmap_stats, unmap_stats);

static const char * const stat_names[NR_UNMAP_STATS] = {
	[UNMAP_STAT_PUT_BACK_RUNS]	= "put_back_runs",
	[UNMAP_STAT_PUT_BACK_ENTRIES]	= "put_back_entries",
	[UNMAP_STAT_FLUSHES]		= "flushes",
	[UNMAP_STAT_FLUSHES_DEFERRED]	= "flushes_deferred",
	[UNMAP_STAT_DISCARD_RUNS]	= "discard_runs",
	[UNMAP_STAT_DISCARD_ENTRIES]	= "discard_entries",
	[UNMAP_STAT_DISCARD_FLUSHES]	= "discard_flushes",
	[UNMAP_STAT_TABLES_NOTICED]	= "tables_noticed",
	[UNMAP_STAT_TABLES_FREED]	= "tables_freed",
	[UNMAP_STAT_TABLES_WAITED]	= "tables_waited",
	[UNMAP_STAT_TABLES_CAME_BACK]	= "tables_came_back",
	[UNMAP_STAT_AGED_RUNS]		= "aged_runs",
	[UNMAP_STAT_AGED_ENTRIES]	= "aged_entries",
	[UNMAP_STAT_AHEAD_STRETCHES]	= "ahead_stretches",
	[UNMAP_STAT_AHEAD_FOLIOS]	= "ahead_folios",
	[UNMAP_STAT_AHEAD_PUT_BACK]	= "ahead_put_back",
	[UNMAP_STAT_AHEAD_MISSED]	= "ahead_missed",
	[UNMAP_STAT_AHEAD_HOT]		= "ahead_hot",
	[UNMAP_STAT_AHEAD_SLOTS]	= "ahead_slots",
	[UNMAP_STAT_AHEAD_LISTED]	= "ahead_listed",
	[UNMAP_STAT_DROP_MMS]		= "drop_mms",
	[UNMAP_STAT_DROP_BUSY]		= "drop_busy",
	[UNMAP_STAT_DROP_YOUNG]		= "drop_young",
	[UNMAP_STAT_DROP_OLD]		= "drop_old",
	[UNMAP_STAT_DROP_LOOKED]	= "drop_looked",
	[UNMAP_STAT_DROP_TABLES]	= "drop_tables",
	[UNMAP_STAT_DROP_ENTRIES]	= "drop_entries",
	[UNMAP_STAT_DROP_KEPT_VMA]	= "drop_kept_vma",
	[UNMAP_STAT_DROP_KEPT_ENTRY]	= "drop_kept_entry",
	[UNMAP_STAT_RELOCATE_RUNS]	= "relocate_runs",
	[UNMAP_STAT_RELOCATE_ENTRIES]	= "relocate_entries",
	[UNMAP_STAT_RELOCATE_PINNED]	= "relocate_pinned",
	[UNMAP_STAT_BACK_RUNS]		= "back_runs",
	[UNMAP_STAT_BACK_ENTRIES]	= "back_entries",
	[UNMAP_STAT_SPLIT_WALKS]	= "split_walks",
	[UNMAP_STAT_BATCHES]		= "relocate_batches",
	[UNMAP_STAT_BATCH_PAGES]	= "relocate_batch_pages",
	[UNMAP_STAT_BATCHES_BACK]	= "back_batches",
	[UNMAP_STAT_BATCH_PAGES_BACK]	= "back_batch_pages",
};

static void stat_add_cpu(struct unmap_stats *sum, int cpu)
{
	struct unmap_stats *stats = per_cpu_ptr(&unmap_stats, cpu);
	int i;

	for (i = 0; i < NR_UNMAP_STATS; i++)
		sum->item[i] += READ_ONCE(stats->item[i]);
	for (i = 0; i < UNMAP_RUN_ORDERS; i++)
		sum->run_order[i] += READ_ONCE(stats->run_order[i]);
}

static unsigned long stat_sum_runs(const struct unmap_stats *sum)
{
	unsigned long runs = 0;
	int order;

	for (order = 0; order < UNMAP_RUN_ORDERS; order++)
		runs += sum->run_order[order];
	return runs;
}

/**
 * unmap_stat_show - print all counters, one "name value" a line
 * @buf: sysfs's buffer of one page
 *
 * Not a snapshot: CPUs continue to count meanwhile.
 *
 * Return: the length of the text.
 */
int unmap_stat_show(char *buf)
{
	struct unmap_stats sum = {};
	unsigned long runs;
	int cpu, i, len;

	for_each_possible_cpu(cpu)
		stat_add_cpu(&sum, cpu);

	runs = stat_sum_runs(&sum);
	len = sysfs_emit(buf, "evict_runs %lu\nevict_entries %lu\n", runs,
			 runs + sum.item[UNMAP_STAT_EVICT_MORE]);
	for (i = UNMAP_STAT_EVICT_MORE + 1; i < NR_UNMAP_STATS; i++)
		len += sysfs_emit_at(buf, len, "%s %lu\n", stat_names[i],
				     sum.item[i]);
	for (i = 0; i < UNMAP_RUN_ORDERS; i++)
		len += sysfs_emit_at(buf, len, "run_order_%d %lu\n", i,
				     sum.run_order[i]);
	return len;
}
