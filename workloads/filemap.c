// SPDX-License-Identifier: GPL-2.0-only
/*
 * filemap CASE: reclaim of clean, mapped folios of a file on XFS.
 *
 * pageout: MADV_PAGEOUT of 128 MiB; the second of two passes is reported.
 * reclaim: 1 GiB mapped in a memory cgroup, 0.8 GiB of it reclaimed through
 *          memory.reclaim (--full: 10 GiB and 8 GiB).  What faulting marked as
 *          used is marked unused first (clear_refs), so that what is measured
 *          is a scan that finds its pages idle and unmaps them, not aging.
 *
 * The mapping is shifted by 1 MiB against the file, so that every kernel maps
 * the folios by PTEs and none of them crosses from one table into the next.
 * Before: every page is mapped.  After: entries and page cache are gone, the
 * counters agree, and every page reads back as written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datafile.h"
#include "workload.h"

#define FILE_PATH	"/mnt/filemap.data"
#define CGROUP	"/sys/fs/cgroup/filemap"
#define RECLAIM_PATH	CGROUP "/memory.reclaim"

/* Touch every page and say which folios they came in: large ones, or there is no case. */
static struct census touch(const char *mem, size_t len)
{
	struct census census;

	for (size_t i = 0; i < len; i += PAGE)
		READ_ONCE(mem[i]);
	census = take_census(mem, len);
	if (census.pages != len / PAGE)
		fail("only %lu of %zu pages are mapped", census.pages, len / PAGE);
	if (census.pages < 8 * census.folios)
		fail("read-ahead made %lu folios of %lu pages: too small", census.folios,
		     census.pages);
	return census;
}

static void report(u64 instructions, u64 pages, struct census census)
{
	metric("instructions", instructions, "instructions");
	metric("pages", pages, "pages");
	metric("folio_pages", census.pages / census.folios, "pages");
}

static void pageout(bool full)
{
	const size_t len = 128 * MIB;
	int fd = make_file(FILE_PATH, len);
	char *mem = map_file(fd, len, MAP_SHARED);
	struct census census;
	u64 instructions;

	(void)full;
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
	report(instructions, len / PAGE, census);
}

static void enter_cgroup(void)
{
	char pid[16];

	if (!path_exists("/sys/fs/cgroup/cgroup.procs"))
		skip("no cgroup2 at /sys/fs/cgroup");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		skip("cannot create " CGROUP ": %s", strerror(errno));
	if (!path_exists(RECLAIM_PATH))
		skip("cannot find " RECLAIM_PATH);
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_text(CGROUP "/cgroup.procs", pid);
}

static void leave_cgroup(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_text("/sys/fs/cgroup/cgroup.procs", pid);
	rmdir(CGROUP);
}

struct usage {
	u64 current;
	u64 file;
	u64 mapped;
};

static struct usage read_usage(void)
{
	return (struct usage) {
		.current = read_number(CGROUP "/memory.current"),
		.file = read_field(CGROUP "/memory.stat", "file "),
		.mapped = read_field(CGROUP "/memory.stat", "file_mapped "),
	};
}

/* Each figure must have fallen by what was asked for, give or take a twentieth. */
static void check_drop(const char *what, u64 before, u64 after, u64 asked)
{
	u64 drop = before - after;

	if (drop < asked - asked / 20 || drop > asked + asked / 20)
		fail("%s went from %llu to %llu, expected it to fall by about %llu", what,
		     (unsigned long long)before, (unsigned long long)after,
		     (unsigned long long)asked);
}

static void reclaim(bool full)
{
	const size_t len = full ? 10 * GIB : GIB;
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
	report(instructions, (before.mapped - after.mapped) / PAGE, census);
	munmap(mem, len);
	leave_cgroup();
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "filemap pageout|reclaim [--full]");

	if (!strcmp(req.name, "pageout"))
		pageout(req.full);
	else if (!strcmp(req.name, "reclaim"))
		reclaim(req.full);
	else
		fail("unknown case %s: expected pageout or reclaim", req.name);
	unlink(FILE_PATH);
	return 0;
}
