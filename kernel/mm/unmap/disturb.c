// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests: stock code that looks for a page table finds none more often than it
 * would by chance (law 8).
 *
 * "fail_pte_map" in debugfs has the usual knobs of fault injection.  It is for those who
 * try again: whoever takes no table for no memory leaves behind what is mapped.
 */
#include <linux/fault-inject.h>
#include <linux/init.h>
#include <linux/unmap.h>

#include "internal.h"

static DECLARE_FAULT_ATTR(fail_pte_map);

/**
 * unmap_map_fails - shall pte_offset_map_lock() say that there is no table?
 */
bool unmap_map_fails(void)
{
	return should_fail_ex(&fail_pte_map, 1, FAULT_NOWARN);
}

/**
 * unmap_tables_may_go - may a table that was seen be gone by now?
 *
 * Between two looks at a PMD: here is time for it to go.
 */
bool unmap_tables_may_go(void)
{
	unmap_sabotage_window();
	return !unmap_sabotaged(UNMAP_SABOTAGE_TABLE_MISSED);
}

static int __init unmap_disturb_init(void)
{
	fault_create_debugfs_attr("fail_pte_map", NULL, &fail_pte_map);
	return 0;
}
late_initcall(unmap_disturb_init);
