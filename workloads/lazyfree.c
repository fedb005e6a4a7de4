// SPDX-License-Identifier: GPL-2.0-only
/*
 * lazyfree CASE: MADV_PAGEOUT of 128 MiB (--mib N) of lazyfree memory, in folios of
 * CASE (4K, 64K, 1024K or any other size the kernel offers below 2 MiB).
 *
 * Touch the range, mark it with MADV_FREE, measure MADV_PAGEOUT alone; report the
 * second of two passes.  Before: every folio has the size of the case.  After: no
 * entry is left, pglazyfreed has counted every page, none was swapped out, and the
 * range reads as zero.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "lib/workload.h"

struct result {
	u64 instructions;
	u64 split_deferred;
	u64 lazyfreed;
	u64 swapped;
};

/* Replace every counter in @res by its growth since the value that @res holds. */
static void count(struct result *res, unsigned long kib)
{
	res->split_deferred = thp_stat(kib, "split_deferred") - res->split_deferred;
	res->lazyfreed = read_field("/proc/vmstat", "pglazyfreed ") - res->lazyfreed;
	res->swapped = read_field("/proc/vmstat", "pswpout ") - res->swapped;
}

static void check(const struct result *res, const char *mem, size_t len)
{
	unsigned long left = count_entries(mem, len), pages = len / PAGE;

	if (left)
		fail("%lu of %lu pages are still there", left, pages);
	if (res->lazyfreed != pages || res->swapped)
		fail("%llu pages were lazily freed and %llu swapped out, expected %lu and 0",
		     (unsigned long long)res->lazyfreed, (unsigned long long)res->swapped, pages);
	check_zero(mem, len);
}

static struct result reclaim(size_t len, unsigned long kib)
{
	struct result res = { 0 };
	char *mem = map_anon(len);
	u64 start;

	memset(mem, 1, len);
	check_folios(mem, len, kib);
	advise(mem, len, MADV_FREE);

	count(&res, kib);
	start = measure_begin();
	advise(mem, len, MADV_PAGEOUT);
	res.instructions = measure_end(start);
	count(&res, kib);

	check(&res, mem, len);
	munmap(mem, len);
	return res;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "lazyfree 4K|64K|1024K [--mib N]");
	const size_t len = wanted_size(&req, 128 * MIB, 128 * MIB);
	unsigned long kib = parse_folio(req.name);
	struct result res;

	if (kib >= 2048)
		skip("a PMD maps a folio of %lu KiB, not a run of PTEs", kib);
	need_memory(len);
	settle();
	thp_only(kib);
	reclaim(len, kib);	/* the first pass splits free blocks, later ones do not */
	res = reclaim(len, kib);

	report(res.instructions, res.lazyfreed);
	metric("split_deferred", res.split_deferred, "folios");
	return 0;
}
