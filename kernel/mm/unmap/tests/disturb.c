// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disturbances for tests, which make races more likely.
 *
 * unmap.window (/sys/module/unmap/parameters/window) is a number of microseconds.  The
 * code waits that long in each window in which another CPU can change what was read, or sees
 * what is half done: at most 50 milliseconds, or 200 where it may sleep.  unmap_windows in
 * debugfs counts the windows, for tests that wait for one; unmap.window_at selects one by its
 * number, so that the code waits in no other (0: in all).  A window ends when unmap.window
 * becomes 0.
 *
 * fail_pte_map in debugfs has the usual knobs of fault injection.  It makes
 * pte_offset_map_lock() find no page table, as if the table had just been freed (law 8).
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fault-inject.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/time64.h>
#include <linux/unmap.h>

#include "../internal.h"
#include "../window.h"

#define WINDOW_MAX	50000U
#define LONG_WINDOW_MAX	200000U

static unsigned int window;
static unsigned int window_at;
static atomic_t windows;

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "unmap."
module_param(window, uint, 0600);
module_param(window_at, uint, 0600);

/* Whether to wait in this window. */
static bool window_opens(void)
{
	unsigned int nr = atomic_inc_return(&windows), at = READ_ONCE(window_at);

	return !at || nr == at;
}

/* Spins, because the caller may hold spinlocks. */
void unmap_window(void)
{
	unsigned int us = READ_ONCE(window);

	if (!us || !window_opens())
		return;
	us = min(us, WINDOW_MAX);
	for (; us > USEC_PER_MSEC && READ_ONCE(window); us -= USEC_PER_MSEC)
		mdelay(1);
	udelay(min_t(unsigned int, us, USEC_PER_MSEC));
}

/* Where the caller may sleep: long enough for system calls of another task. */
void unmap_long_window(void)
{
	unsigned int us = min(READ_ONCE(window), LONG_WINDOW_MAX);

	might_sleep();
	if (us <= WINDOW_MAX) {
		unmap_window();
		return;
	}
	if (window_opens())
		usleep_range(us, us + WINDOW_MAX);
}

static DECLARE_FAULT_ATTR(fail_pte_map);

/**
 * unmap_map_fails - should pte_offset_map_lock() pretend to find no page table?
 */
bool unmap_map_fails(void)
{
	return should_fail_ex(&fail_pte_map, 1, FAULT_NOWARN);
}

/**
 * unmap_table_may_go - can a page table that was seen in a PMD be freed by now?
 *
 * Stock code calls this between two reads of a PMD, so the window is prolonged here.
 */
bool unmap_table_may_go(void)
{
	unmap_window();
	return IS_ENABLED(CONFIG_UNMAP_TABLES);
}

static int __init unmap_disturb_init(void)
{
	debugfs_create_atomic_t("unmap_windows", 0400, NULL, &windows);
	if (IS_ENABLED(CONFIG_UNMAP_TABLES))
		fault_create_debugfs_attr("fail_pte_map", NULL, &fail_pte_map);
	return 0;
}
late_initcall(unmap_disturb_init);
