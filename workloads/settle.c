// SPDX-License-Identifier: GPL-2.0-only
/*
 * The state of the page allocator that every measurement starts from.
 *
 * What was freed last lies in per-CPU lists, up to 120 MiB of it, and is given
 * back to the buddy allocator, at 220 instructions a page, when a later
 * program frees pages of another size: 29.5 M instead of 23.0 M instructions
 * for zap 16K after zap 4K.  An idle machine shrinks the lists second by
 * second (vmstat's periodic work).  Do the same at once, until the lists are
 * as short as they get.  What little is left then goes with 16 MiB of folios of
 * four pages: heavy freeing of those is the one thing that empties the lists.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

#define REFRESHES	200	/* each takes an eighth of the lists' limit away */
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
