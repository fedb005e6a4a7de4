// SPDX-License-Identifier: GPL-2.0-only
/*
 * filemap CASE: reclaim of clean, mapped folios of a file on XFS.
 *
 * pageout: MADV_PAGEOUT of 128 MiB (--mib N); the second of two passes is reported.
 * single:  the same in single pages.
 * reclaim: 1 GiB mapped in a memory cgroup, 0.8 GiB of it reclaimed through
 *          memory.reclaim (--full: 10 GiB and 8 GiB; --mib N: N and 0.8 N).
 *          clear_refs first clears the accessed bits that the faults set: the scan
 *          then finds idle pages and unmaps them, instead of aging them.
 * reclaim-4K: the same in single pages, 256 MiB (--full: 1 GiB).
 *
 * Read-ahead makes folios of many pages.  POSIX_FADV_RANDOM makes single ones.
 *
 * The mapping is shifted by 1 MiB against the file, so that every kernel maps
 * the folios by PTEs and no folio lies across two page tables.
 * Before: every page is mapped.  After: the entries and the cached pages are gone, the
 * counters agree, and every page reads back as written.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/datafile.h"
#include "lib/workload.h"

#define FILE_PATH	"/mnt/filemap.data"

/* Whether the case is of single pages. */
static bool single;

/* Map every page and count the folios; fail if they do not have the size that is wanted. */
static struct census touch(const char *mem, size_t len)
{
	struct census census;

	for (size_t i = 0; i < len; i += PAGE)
		READ_ONCE(mem[i]);
	check_ptes();
	census = take_census(mem, len);
	if (census.pages != len / PAGE)
		fail("only %lu of %zu pages are mapped", census.pages, len / PAGE);
	if (single && census.pages != census.folios)
		fail("%lu pages are in %lu folios, but should be single", census.pages,
		     census.folios);
	if (!single && census.pages < 8 * census.folios)
		fail("read-ahead made %lu folios of %lu pages: too small", census.folios,
		     census.pages);
	return census;
}

static void report_folios(u64 instructions, u64 pages, struct census census)
{
	report(instructions, pages);
	metric("folio_pages", census.pages / census.folios, "pages");
}

static int make_data(size_t len)
{
	int fd = make_file(FILE_PATH, len);

	if (single && posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM))
		fail("posix_fadvise failed");
	return fd;
}

static void pageout(const struct request *req)
{
	const size_t len = wanted_size(req, 128 * MIB, 128 * MIB);
	int fd = make_data(len);
	char *mem = map_file(fd, len, MAP_SHARED);
	struct census census;
	u64 instructions;

	for (int pass = 0; pass < 2; pass++) {
		read_file(fd, len);
		census = touch(mem, len);
		instructions = measure_begin();
		advise(mem, len, MADV_PAGEOUT);
		instructions = measure_end(instructions);
		if (count_entries(mem, len) || count_cached(mem, len))
			fail("%lu pages are still mapped, %lu still cached",
			     count_entries(mem, len), count_cached(mem, len));
	}
	check_contents(mem, len);
	report_folios(instructions, len / PAGE, census);
}

static void reclaim(const struct request *req)
{
	const size_t len = single ? wanted_size(req, 256 * MIB, GIB) :
				    wanted_size(req, GIB, 10 * GIB);
	const u64 asked = len / 10 * 8 / PAGE * PAGE;
	struct usage before, after;
	struct census census;
	char amount[32], *mem;
	u64 instructions;
	int fd;

	fd = make_data(len);
	enter_cgroup();
	mem = map_file(fd, len, MAP_SHARED);
	read_file(fd, len);
	census = touch(mem, len);
	write_text("/proc/self/clear_refs", "1");
	before = read_usage();

	snprintf(amount, sizeof(amount), "%llu", (unsigned long long)asked);
	instructions = measure_begin();
	write_text(RECLAIM_PATH, amount);
	instructions = measure_end(instructions);

	after = read_usage();
	check_drop("memory.current", before.current, after.current, asked);
	check_drop("file", before.file, after.file, asked);
	check_drop("file_mapped", before.mapped, after.mapped, asked);
	check_drop("the mapped part", len, count_entries(mem, len) * PAGE, asked);
	check_contents(mem, len);
	report_folios(instructions, (before.mapped - after.mapped) / PAGE, census);
	munmap(mem, len);
	leave_cgroup();
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv,
					   "filemap pageout|single|reclaim|reclaim-4K [--full] [--mib N]");
	bool reclaiming = !strncmp(req.name, "reclaim", 7);

	single = !strcmp(req.name, "single") || !strcmp(req.name, "reclaim-4K");
	if (!single && strcmp(req.name, "pageout") && strcmp(req.name, "reclaim"))
		fail("unknown case %s: expected pageout, single, reclaim or reclaim-4K", req.name);
	settle();
	if (reclaiming)
		reclaim(&req);
	else
		pageout(&req);
	unlink(FILE_PATH);
	return 0;
}
