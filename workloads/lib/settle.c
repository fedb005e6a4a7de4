// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of the page allocator that every measurement starts from.
 *
 * Per-CPU lists hold the pages that were freed last, up to 120 MiB.  A later program
 * that frees pages of another size drains them to the buddy allocator, at 220
 * instructions a page: zap 16K takes 29.5 M instead of 23.0 M instructions after zap 4K.
 * On an idle machine vmstat's periodic work shrinks the lists every second.
 * shrink_lists() has the same work done at once, until the lists are as short as it
 * makes them.  wash_lists() then frees 16 MiB in folios of four pages, which empties
 * what remains.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

#define REFRESHES	200	/* each lowers the limit of the per-CPU lists by an eighth */
#define WASHED		(16 * MIB)

static void shrink_lists(void)
{
	for (int i = 0; i < REFRESHES; i++)
		write_text("/proc/sys/vm/stat_refresh", "1");
}

static void wash_lists(void)
{
	char *mem = map_anon(WASHED);

	thp_only(16);
	memset(mem, 1, WASHED);
	munmap(mem, WASHED);
}

void settle(void)
{
	sync();
	write_text("/proc/sys/vm/drop_caches", "3");
	shrink_lists();
	wash_lists();
	thp_only(4);
	shrink_lists();
}
