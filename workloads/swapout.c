// SPDX-License-Identifier: GPL-2.0-only
/*
 * swapout CASE: MADV_PAGEOUT of 128 MiB (--full: 256 MiB; --mib N) of anonymous
 * memory, in folios of CASE.
 *
 * SIZE:        pages of zeroes, to zram
 * SIZE-random: pages that cannot be compressed, to zram
 * SIZE-xfs:    the same, to a swap file on XFS, for which 6.12 splits all large folios
 *
 * Before: every folio has the size of the case.  After: no page is present, every page
 * has a swap entry, no large folio was split because contiguous swap was lacking (zram
 * only), and every page reads back as written.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "lib/swapfile.h"
#include "lib/workload.h"

struct result {
	u64 instructions;
	u64 pswpout;
};

static u64 next_random(u64 x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

static void fill_random(u64 *words, size_t nr)
{
	u64 x = 1;

	for (size_t i = 0; i < nr; i++) {
		words[i] = x;
		x = next_random(x);
	}
}

static void check_random(const u64 *words, size_t nr)
{
	u64 x = 1;

	for (size_t i = 0; i < nr; i++) {
		if (words[i] != x)
			fail("page %zu came back wrong", i * sizeof(x) / PAGE);
		x = next_random(x);
	}
}

static void check_swapped(const char *mem, size_t len)
{
	unsigned long present = take_census(mem, len).pages;
	unsigned long entries = count_entries(mem, len);

	if (present || entries != len / PAGE)
		fail("%lu pages are present and %lu of %zu have an entry", present, entries,
		     len / PAGE);
}

static struct result swap_out(size_t len, unsigned long kib, bool random)
{
	char *mem = map_anon(len);
	struct result res;

	if (random)
		fill_random((u64 *)mem, len / sizeof(u64));
	for (size_t i = 0; i < len && !random; i += PAGE)
		mem[i] = 0;
	check_folios(mem, len, kib);

	res.pswpout = read_field("/proc/vmstat", "pswpout ");
	res.instructions = measure_begin();
	advise(mem, len, MADV_PAGEOUT);
	res.instructions = measure_end(res.instructions);
	res.pswpout = read_field("/proc/vmstat", "pswpout ") - res.pswpout;

	check_swapped(mem, len);
	if (random)
		check_random((u64 *)mem, len / sizeof(u64));
	else
		check_zero(mem, len);
	munmap(mem, len);
	return res;
}

/* Cut @suffix off the case's name; false if the name does not have it. */
static bool take_suffix(const char *name, const char *suffix)
{
	char *found = strstr(name, suffix);

	if (found)
		*found = '\0';
	return found;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv,
					   "swapout 4K…1024K[-random|-xfs] [--full] [--mib N]");
	const size_t len = wanted_size(&req, 128 * MIB, 256 * MIB);
	bool file = take_suffix(req.name, "-xfs");
	bool random = take_suffix(req.name, "-random") || file;
	unsigned long kib = parse_folio(req.name);
	struct result res;
	u64 fallback;

	if (file)
		swap_to_file(2 * len + PAGE);
	if (read_field("/proc/meminfo", "SwapFree:") * 1024 < 2 * len)
		skip("the case needs %zu MiB of free swap", 2 * len >> 20);
	need_memory(random ? 2 * len : len);
	settle();
	thp_only(kib);
	fallback = thp_stat(kib, "swpout_fallback");
	res = swap_out(len, kib, random);
	if (!file && thp_stat(kib, "swpout_fallback") != fallback)
		fail("large folios were split before they were swapped out");
	if (file)
		swap_to_device();

	report(res.instructions, len / PAGE);
	metric("pswpout", res.pswpout, "pages");
	return 0;
}
