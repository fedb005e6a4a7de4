// SPDX-License-Identifier: GPL-2.0-only
/*
 * lazyfree CASE: MADV_PAGEOUT of 128 MiB of lazyfree memory, in folios of CASE
 * (4K, 64K, 1024K or any other size the kernel offers below 2 MiB).
 *
 * Touch the range, mark it with MADV_FREE, measure MADV_PAGEOUT alone; report the
 * second of two passes.  Before: every folio has the size asked for.  After: no
 * entry is left, every page counts as lazily freed, none was swapped out, all of
 * the range reads as zero.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define SIZE	(128 * MIB)
#define PAGES	(SIZE / PAGE)

struct result {
	u64 instructions;
	u64 split_deferred;
	u64 lazyfreed;
	u64 swapped;
};

/* Read every counter into @res, as the difference to what it held before. */
static void count(struct result *res, unsigned long kib)
{
	res->split_deferred = thp_stat(kib, "split_deferred") - res->split_deferred;
	res->lazyfreed = read_field("/proc/vmstat", "pglazyfreed ") - res->lazyfreed;
	res->swapped = read_field("/proc/vmstat", "pswpout ") - res->swapped;
}

static void check(const struct result *res, const char *mem)
{
	unsigned long left = count_entries(mem, SIZE);

	if (left)
		fail("%lu of %lu pages are still there", left, PAGES);
	if (res->lazyfreed != PAGES || res->swapped)
		fail("%llu pages were lazily freed and %llu swapped out, expected %lu and 0",
		     (unsigned long long)res->lazyfreed, (unsigned long long)res->swapped, PAGES);
	check_zero(mem, SIZE);
}

static struct result reclaim(unsigned long kib)
{
	struct result res = { 0 };
	char *mem = map_anon(SIZE);
	u64 start;

	memset(mem, 1, SIZE);
	check_folios(mem, SIZE, kib);
	advise(mem, SIZE, MADV_FREE);

	count(&res, kib);
	start = measure_begin();
	advise(mem, SIZE, MADV_PAGEOUT);
	res.instructions = measure_end(start);
	count(&res, kib);

	check(&res, mem);
	munmap(mem, SIZE);
	return res;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "lazyfree 4K|64K|1024K");
	unsigned long kib = parse_folio(req.name);
	struct result res;

	if (kib >= 2048)
		skip("folios of %lu KiB are mapped by one entry, not by a run", kib);
	thp_only(kib);
	reclaim(kib);	/* the first pass after boot splits free blocks, later ones do not */
	res = reclaim(kib);

	metric("instructions", res.instructions, "instructions");
	metric("pages", res.lazyfreed, "pages");
	metric("split_deferred", res.split_deferred, "folios");
	return 0;
}
