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
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "workload.h"

#define FILE_PATH	"/mnt/filemap.data"
#define CGROUP	"/sys/fs/cgroup/filemap"
#define RECLAIM_PATH	CGROUP "/memory.reclaim"
#define CHUNK	MIB

static u64 stamp(u64 page)
{
	return (page + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Every page of the file begins and ends with its stamp. */
static void stamp_chunk(char *chunk, u64 first)
{
	for (size_t i = 0; i < CHUNK / PAGE; i++) {
		u64 *page = (u64 *)(chunk + i * PAGE);

		page[0] = stamp(first + i);
		page[PAGE / sizeof(u64) - 1] = stamp(first + i);
	}
}

static void check_contents(const char *mem, size_t len)
{
	for (size_t i = 0; i < len / PAGE; i++) {
		const u64 *page = (const u64 *)(mem + i * PAGE);

		if (page[0] != stamp(i) || page[PAGE / sizeof(u64) - 1] != stamp(i))
			fail("page %zu of the file reads back wrong", i);
	}
}

static void need_space(size_t len)
{
	struct statvfs fs;

	if (statvfs("/mnt", &fs))
		skip("/mnt is not there: %s", strerror(errno));
	if (fs.f_bavail * fs.f_bsize < len + 64 * MIB)
		skip("/mnt has no %zu MiB free", len >> 20);
	if (read_field("/proc/meminfo", "MemTotal:") * 1024 < len + 512 * MIB)
		skip("the machine has too little memory to map %zu MiB at once", len >> 20);
}

static void fill_file(int fd, size_t len)
{
	char *chunk = aligned_alloc(PAGE, CHUNK);

	if (!chunk)
		fail("out of memory");
	memset(chunk, 0, CHUNK);
	for (size_t done = 0; done < len; done += CHUNK) {
		stamp_chunk(chunk, done / PAGE);
		if (pwrite(fd, chunk, CHUNK, done) != CHUNK)
			fail("cannot write " FILE_PATH ": %s", strerror(errno));
	}
	free(chunk);
}

/* A clean file of which nothing is cached. */
static int make_file(size_t len)
{
	int fd;

	unlink(FILE_PATH);
	need_space(len);
	fd = open(FILE_PATH, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		skip("cannot create " FILE_PATH ": %s", strerror(errno));
	fill_file(fd, len);
	if (fsync(fd))
		fail("cannot sync " FILE_PATH ": %s", strerror(errno));
	write_text("/proc/sys/vm/drop_caches", "3");
	return fd;
}

/* Bring the file in with sequential reads: that is what makes large folios. */
static void read_file(int fd, size_t len)
{
	static char buffer[128 << 10];

	for (size_t done = 0; done < len; done += sizeof(buffer))
		if (pread(fd, buffer, sizeof(buffer), done) != sizeof(buffer))
			fail("cannot read " FILE_PATH ": %s", strerror(errno));
}

static char *map_file(int fd, size_t len)
{
	char *hint = map_anon(len + 2 * MIB);
	char *mem;

	munmap(hint, len + 2 * MIB);
	mem = mmap(hint + MIB, len, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	if (mem == MAP_FAILED)
		fail("cannot map " FILE_PATH ": %s", strerror(errno));
	return mem;
}

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

static unsigned long count_cached(char *mem, size_t len)
{
	unsigned char *vec = malloc(len / PAGE);
	unsigned long cached = 0;

	if (!vec || mincore(mem, len, vec))
		fail("mincore failed: %s", strerror(errno));
	for (size_t i = 0; i < len / PAGE; i++)
		cached += vec[i] & 1;
	free(vec);
	return cached;
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
	int fd = make_file(len);
	char *mem = map_file(fd, len);
	struct census census;
	u64 instructions;

	(void)full;
	for (int pass = 0; pass < 2; pass++) {
		read_file(fd, len);
		census = touch(mem, len);
		instructions = measure_begin();
		if (madvise(mem, len, MADV_PAGEOUT))
			fail("madvise(MADV_PAGEOUT) failed: %s", strerror(errno));
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

	fd = make_file(len);
	enter_cgroup();
	mem = map_file(fd, len);
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
