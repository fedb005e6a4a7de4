// SPDX-License-Identifier: GPL-2.0-only
/*
 * filemap CASE: reclaim of clean, mapped folios of a file on XFS.
 *
 * pageout: MADV_PAGEOUT of 128 MiB (--mib N); the second of two passes is reported.
 * reclaim: 1 GiB mapped in a memory cgroup, 0.8 GiB of it reclaimed through
 *          memory.reclaim (--full: 10 GiB and 8 GiB; --mib N: N and 0.8 N).
 *          clear_refs first clears the accessed bits that the faults set: the scan
 *          then finds idle pages and unmaps them, instead of aging them.
 *
 * The mapping is shifted by 1 MiB against the file, so that every kernel maps
 * the folios by PTEs and no folio lies across two page tables.
 * Before: every page is mapped.  After: the entries and the cached pages are gone, the
 * counters agree, and every page reads back as written.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/datafile.h"
#include "lib/workload.h"

#define FILE_PATH	"/mnt/filemap.data"

/* Map every page and count the folios; fail if they are too small to be worth measuring. */
static struct census touch(const char *mem, size_t len)
{
	struct census census;

	for (size_t i = 0; i < len; i += PAGE)
		READ_ONCE(mem[i]);
	check_ptes();
	census = take_census(mem, len);
	if (census.pages != len / PAGE)
		fail("only %lu of %zu pages are mapped", census.pages, len / PAGE);
	if (census.pages < 8 * census.folios)
		fail("read-ahead made %lu folios of %lu pages: too small", census.folios,
		     census.pages);
	return census;
}

static void report_folios(u64 instructions, u64 pages, struct census census)
{
	report(instructions, pages);
	metric("folio_pages", census.pages / census.folios, "pages");
}

static void pageout(const struct request *req)
{
	const size_t len = wanted_size(req, 128 * MIB, 128 * MIB);
	int fd = make_file(FILE_PATH, len);
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
	const size_t len = wanted_size(req, GIB, 10 * GIB);
	const u64 asked = len / 10 * 8 / PAGE * PAGE;
	struct usage before, after;
	struct census census;
	char amount[32], *mem;
	u64 instructions;
	int fd;

	fd = make_file(FILE_PATH, len);
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
					   "filemap pageout|reclaim [--full] [--mib N]");
	bool paging_out = !strcmp(req.name, "pageout");

	if (!paging_out && strcmp(req.name, "reclaim"))
		fail("unknown case %s: expected pageout or reclaim", req.name);
	settle();
	if (paging_out)
		pageout(&req);
	else
		reclaim(&req);
	unlink(FILE_PATH);
	return 0;
}
