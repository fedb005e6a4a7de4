// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an unprivileged process (user nobody) can do and see.
 *
 * no_writing    no file below /sys/kernel/mm/unmap and /sys/module/unmap is writable
 * no_counters   the counters and the list of mutants are not readable: they tell about
 *               other users' memory
 * settings      the switch and the limit are readable: they only tell what root has chosen
 * no_file_else  there are no files other than these
 * bounded       unmapping a folio in runs of one entry, the longest work under one page-table
 *               lock, does not take much longer than stock code (./swathe run prints it in
 *               instructions)
 * nothing_kept  after much memory was evicted, in runs of one and of many entries, no page,
 *               page table or slab object stays behind
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define NOBODY	65534
#define PARAMETERS	"/sys/module/unmap/parameters/"
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

static const struct {
	const char *path;
	bool readable;
} files[] = {
	{ UNMAP_SYSFS "enabled", true },
	{ UNMAP_SYSFS "max_run", true },
	{ UNMAP_SYSFS "tables_policy", true },
	{ UNMAP_SYSFS "drop_idle_ms", true },
	{ UNMAP_SYSFS "drop_share", true },
	{ UNMAP_SYSFS "stat", false },
	{ PARAMETERS "mutants", false },
	{ PARAMETERS "window", false },
	{ PARAMETERS "window_at", false },
};

FIXTURE(security) {
};

FIXTURE_SETUP(security)
{
	if (geteuid() || access(UNMAP_SYSFS, F_OK))
		SKIP(return, "needs root and mm/unmap");
	ASSERT_EQ(0, setgid(NOBODY));
	ASSERT_EQ(0, setuid(NOBODY));
}

FIXTURE_TEARDOWN(security)
{
}

static int open_error(const char *path, int mode)
{
	int fd = open(path, mode);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* Only kernels built for tests have all files. */
static bool exists(const char *path)
{
	return open_error(path, O_RDONLY) != ENOENT;
}

TEST_LONG(security, no_writing)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (!exists(files[i].path))
			continue;
		EXPECT_EQ(EACCES, open_error(files[i].path, O_WRONLY)) {
			TH_LOG("%s", files[i].path);
		}
		EXPECT_EQ(-1, chmod(files[i].path, 0666));
	}
}

TEST_LONG(security, no_counters)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!files[i].readable && exists(files[i].path))
			EXPECT_EQ(EACCES, open_error(files[i].path, O_RDONLY));
}

TEST_LONG(security, settings)
{
	long long mask = read_field(UNMAP_SYSFS "enabled", "");
	long long max = read_field(UNMAP_SYSFS "max_run", "");

	EXPECT_LE(0, mask);
	EXPECT_LE(1, max);
	EXPECT_GE(512, max);
}

static bool is_known(const char *dir, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%.40s", dir, name);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(files[i].path, path))
			return true;
	return false;
}

static void only_known(struct __test_metadata *_metadata, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		EXPECT_TRUE(is_known(path, entry->d_name)) {
			TH_LOG("%s%s is not in files[]", path, entry->d_name);
		}
	}
	if (dir)
		closedir(dir);
}

TEST_LONG(security, no_file_else)
{
	only_known(_metadata, UNMAP_SYSFS);
	only_known(_metadata, PARAMETERS);
}

/* As user nobody, on the process's own memory: what every user can do. */
#define LEN	RANGE

static bool protect_every_other(char *mem, int prot)
{
	for (size_t i = 0; i < LEN; i += 2 * PAGE)
		CHECK(!mprotect(mem + i, PAGE, prot));
	return true;
}

/* Evict in long runs, then in runs of one entry, because adjacent entries differ. */
static bool use_much(struct scene *scene)
{
	CHECK(scene_make(scene));
	CHECK(!setgid(NOBODY) && !setuid(NOBODY));
	for (int round = 0; round < 2; round++) {
		scene_refill(scene);
		CHECK(!madvise(scene->mem, LEN, MADV_FREE));
		CHECK(!round || protect_every_other(scene->mem, PROT_READ));
		CHECK(!madvise(scene->mem, LEN, MADV_PAGEOUT));
	}
	return true;
}

/* KASAN keeps freed objects in a quarantine, where they still count: shrink the caches. */
static void settle_slabs(void)
{
	DIR *dir = opendir("/sys/kernel/slab");
	struct dirent *entry;
	char path[300];

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", entry->d_name);
		if (entry->d_name[0] != '.')
			write_text(path, "1");
	}
	if (dir)
		closedir(dir);
}

static long long in_use(const char *name)
{
	return read_field("/proc/meminfo", name);
}

/* These tests need root to read the counters. */
FIXTURE(kept) {
};

FIXTURE_SETUP(kept)
{
}

FIXTURE_TEARDOWN(kept)
{
}

TEST_LONG(kept, nothing_kept)
{
	static const char * const names[] = {
		"AnonPages:", "Mapped:", "PageTables:", "SUnreclaim:", "Shmem:"
	};
	struct scene scene = { .kind = LAZYFREE, .kib = 64, .len = LEN, .fd = -1 };
	const char *missing = begin(64, true);
	long long before[5], evicted;

	if (missing)
		SKIP(return, "%s", missing);
	evicted = unmap_stat("evict_entries");
	EXPECT_TRUE(apart(use_much, &scene));	/* makes one-time allocations */
	settle_slabs();
	for (int i = 0; i < 5; i++)
		before[i] = in_use(names[i]);
	for (int round = 0; round < 8; round++)
		EXPECT_TRUE(apart(use_much, &scene));
	EXPECT_LE(9 * 2 * (long)(LEN / PAGE), unmap_stat("evict_entries") - evicted);
	settle_slabs();
	/* 32 MiB were allocated and freed; per-CPU counters and caches hold far less. */
	for (int i = 0; i < 5; i++) {
		EXPECT_GE(512, in_use(names[i]) - before[i]) {
			TH_LOG("%s %lld KiB more", names[i], in_use(names[i]) - before[i]);
		}
	}
	end();
}

/* Nanoseconds for reclaim of a folio of 512 pages whose adjacent entries all differ. */
static long long time_one_folio(struct __test_metadata *_metadata)
{
	char *mem = map_aligned(RANGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct timespec begin, end;
	int uffd;

	ASSERT_NE(MAP_FAILED, mem);
	fill(mem, RANGE, 1);
	ASSERT_TRUE(folios_are(mem, RANGE, RANGE / KIB));
	uffd = uffd_open(mem, RANGE);
	ASSERT_LE(0, uffd);
	ASSERT_EQ(0, madvise(mem, RANGE, MADV_FREE));
	/* madvise() would split the folio once its entries differ: use memory.reclaim. */
	for (size_t i = 0; i < RANGE; i += 2 * PAGE)
		ASSERT_TRUE(uffd_protect(uffd, mem + i, PAGE, true));
	ASSERT_TRUE(folios_are(mem, RANGE, RANGE / KIB));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	reclaim_file(RANGE);
	clock_gettime(CLOCK_MONOTONIC, &end);
	EXPECT_EQ(0, count_pages(mem, RANGE, PM_PRESENT));
	close(uffd);
	munmap(mem, RANGE);
	return (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec;
}

TEST_LONG(kept, bounded)
{
	const char *missing = begin(RANGE / KIB, true);
	long long on, off, runs;

	if (missing)
		SKIP(return, "%s", missing);
	if (!clock_is_exact()) {
		end();
		SKIP(return, CLOCK_INEXACT);
	}
	runs = unmap_stat("evict_runs");
	on = time_one_folio(_metadata);
	EXPECT_EQ(512, unmap_stat("evict_runs") - runs);
	ASSERT_TRUE(switch_all(false));
	off = time_one_folio(_metadata);
	TH_LOG("one folio in runs of one: %lld ns, stock %lld ns", on, off);
	/* Reclaim takes a sixth more; with quadratic work it would take many times as long. */
	EXPECT_GT(2 * off, on);
	end();
}

TEST_HARNESS_MAIN
