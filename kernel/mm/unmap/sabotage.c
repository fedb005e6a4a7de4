// SPDX-License-Identifier: GPL-2.0-only
/*
 * Laws broken on purpose, so that the tests can show that they notice.
 *
 * Chosen by name, comma-separated, with the boot parameter unmap.sabotage= or
 * in /sys/module/unmap/parameters/sabotage; an empty line mends everything.
 *
 * And a window that others seldom hit by chance, held open: microseconds in
 * unmap.window.
 */
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/panic.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"

static const char * const way_names[NR_UNMAP_SABOTAGES] = {
	[UNMAP_SABOTAGE_PUT_BACK]	= "put_back",
	[UNMAP_SABOTAGE_TABLE_END]	= "table_end",
	[UNMAP_SABOTAGE_REDIRTY]	= "redirty",
	[UNMAP_SABOTAGE_EXTRA_REF]	= "extra_ref",
	[UNMAP_SABOTAGE_RSS]		= "rss",
	[UNMAP_SABOTAGE_MARKER]		= "marker",
	[UNMAP_SABOTAGE_FLUSH]		= "flush",
	[UNMAP_SABOTAGE_SOFT_DIRTY]	= "soft_dirty",
	[UNMAP_SABOTAGE_EXCLUSIVE]	= "exclusive",
	[UNMAP_SABOTAGE_SWAP_LEAK]	= "swap_leak",
	[UNMAP_SABOTAGE_SWAP_MARKS]	= "swap_marks",
	[UNMAP_SABOTAGE_STATISTICS]	= "statistics",
	[UNMAP_SABOTAGE_TABLE_FULL]	= "table_full",
	[UNMAP_SABOTAGE_TABLE_FLUSH]	= "table_flush",
	[UNMAP_SABOTAGE_TABLE_RCU]	= "table_rcu",
	[UNMAP_SABOTAGE_TABLE_LATE]	= "table_late",
	[UNMAP_SABOTAGE_TABLE_MISSED]	= "table_missed",
	[UNMAP_SABOTAGE_TABLE_MARK]	= "table_mark",
	[UNMAP_SABOTAGE_TABLE_LOCK]	= "table_lock",
	[UNMAP_SABOTAGE_DIRTY]		= "dirty",
	[UNMAP_SABOTAGE_ZAP_BOUNDS]	= "zap_bounds",
	[UNMAP_SABOTAGE_ZAP_COUNT]	= "zap_count",
	[UNMAP_SABOTAGE_ZAP_REST]	= "zap_rest",
};

static unsigned long ways;

bool unmap_sabotaged(enum unmap_sabotage way)
{
	return unlikely(READ_ONCE(ways) & BIT(way));
}

#define WINDOW_MAX	1000U

static unsigned int window;

/* Spinning, as it may be with locks held. */
void unmap_sabotage_window(void)
{
	unsigned int us = READ_ONCE(window);

	if (us)
		udelay(min(us, WINDOW_MAX));
}

static int find_way(const char *name, size_t len)
{
	int way;

	for (way = 0; way < NR_UNMAP_SABOTAGES; way++) {
		if (strlen(way_names[way]) == len &&
		    !strncmp(way_names[way], name, len))
			return way;
	}
	return -EINVAL;
}

/* Called before there is a slab allocator: takes the text as it is. */
static int parse_ways(const char *text, unsigned long *chosen)
{
	static const char separators[] = ",\n";
	size_t len;
	int way;

	for (*chosen = 0; *text; text += len + strspn(text + len, separators)) {
		len = strcspn(text, separators);
		if (!len)
			continue;
		way = find_way(text, len);
		if (way < 0)
			return way;
		*chosen |= BIT(way);
	}
	return 0;
}

static int sabotage_set(const char *text, const struct kernel_param *kp)
{
	unsigned long chosen;
	int err = parse_ways(text ?: "", &chosen);

	/* A test boot with a way we do not know would prove nothing. */
	if (err && system_state < SYSTEM_RUNNING)
		panic("unmap.sabotage: no such way to break the laws\n");
	if (err)
		return err;
	if (chosen)
		add_taint(TAINT_TEST, LOCKDEP_STILL_OK);
	WRITE_ONCE(ways, chosen);
	return 0;
}

static int sabotage_get(char *buf, const struct kernel_param *kp)
{
	int way, len = 0;

	for (way = 0; way < NR_UNMAP_SABOTAGES; way++)
		len += sysfs_emit_at(buf, len, "%s %d\n", way_names[way],
				     unmap_sabotaged(way));
	return len;
}

static const struct kernel_param_ops sabotage_ops = {
	.set = sabotage_set,
	.get = sabotage_get,
};

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "unmap."
module_param_cb(sabotage, &sabotage_ops, NULL, 0600);
module_param(window, uint, 0600);
