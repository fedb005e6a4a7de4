// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters of reclaimed memory (law 4): rss, folio, control group and event counters after
 * full and partial reclaim, and exactly at a process's exit.
 *
 * rss_full         RssAnon, RssFile or RssShmem falls by the pages that were reclaimed
 * rss_partial      the same where part of each folio was zapped before or has to stay
 * rss_at_exit      no process leaves a counter behind ("Bad rss-counter" in the log)
 * split_deferred   a lazyfree folio that is freed as a whole is never queued for splitting
 * folio_counters   nr_anon and nr_anon_partially_mapped return to what they were
 * cgroup_counters  anon, file_mapped and shmem of the control group fall as well
 * events           pglazyfreed counts the pages that were freed, no others
 * runs             the histogram adds up to evict_runs, and to one run a folio
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define SEED	21
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

/* Each CPU may hold back a batch of a counter's changes. */
#define SLACK	((long)(64 * sysconf(_SC_NPROCESSORS_ONLN)))

enum kind { LAZYFREE, SHMEM, FILE_SHARED };

FIXTURE(accounting) {
	int fd;
	char *mem;
	const char *rss_name;
	long long rss;
};

FIXTURE_VARIANT(accounting) {
	enum kind kind;
	unsigned long kib;
	bool on;
};

#define VARIANTS(prefix, what, size) \
	FIXTURE_VARIANT_ADD(accounting, prefix ## _ ## size ## K_on) { \
		.kind = what, .kib = FOLIO_KIB(size), .on = true }; \
	FIXTURE_VARIANT_ADD(accounting, prefix ## _ ## size ## K_off) { \
		.kind = what, .kib = FOLIO_KIB(size) }

VARIANTS(lazyfree, LAZYFREE, 4);
VARIANTS(lazyfree, LAZYFREE, 64);
VARIANTS(lazyfree, LAZYFREE, 1024);
VARIANTS(shmem, SHMEM, 64);
VARIANTS(file, FILE_SHARED, 64);
VARIANTS(file, FILE_SHARED, 1024);

static const char *rss_of(enum kind kind)
{
	switch (kind) {
	case SHMEM:
		return "RssShmem";
	case FILE_SHARED:
		return "RssFile";
	default:
		return "RssAnon";
	}
}

/* Map LEN bytes of the kind and bring them into memory; MADV_FREE comes later. */
static char *populate(enum kind kind, int fd)
{
	int flags = kind == LAZYFREE ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, flags, fd);

	if (mem == MAP_FAILED)
		return NULL;
	if (kind == FILE_SHARED)
		madvise(mem, LEN, MADV_POPULATE_READ);
	else
		fill(mem, LEN, SEED);
	return mem;
}

static int open_kind(enum kind kind, unsigned long kib)
{
	int fd;

	if (kind == FILE_SHARED)
		return xfs_file(LEN, SEED, kib);
	if (kind == LAZYFREE)
		return dup(STDIN_FILENO);
	fd = memfd_create("unmap", MFD_CLOEXEC);
	return swap_is_on() && !ftruncate(fd, LEN) ? fd : -1;
}

FIXTURE_SETUP(accounting)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->fd = open_kind(variant->kind, variant->kib);
	if (self->fd < 0) {
		end();
		SKIP(return, "needs swap for shmem, XFS at /mnt for files");
	}
	self->rss_name = rss_of(variant->kind);
	self->rss = status_pages(self->rss_name);
	self->mem = populate(variant->kind, self->fd);
	ASSERT_NE(NULL, self->mem);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	ASSERT_GE(SLACK, llabs(status_pages(self->rss_name) - self->rss - PAGES));
}

FIXTURE_TEARDOWN(accounting)
{
	close(self->fd);
	end();
}

static bool pageout(enum kind kind, char *mem)
{
	if (kind == LAZYFREE && madvise(mem, LEN, MADV_FREE))
		return false;
	return !madvise(mem, LEN, MADV_PAGEOUT);
}

TEST_LONG(accounting, rss_full)
{
	long long swapped = status_pages("VmSwap");

	ASSERT_TRUE(pageout(variant->kind, self->mem));
	ASSERT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT));
	EXPECT_GE(SLACK, llabs(status_pages(self->rss_name) - self->rss));
	EXPECT_GE(SLACK, llabs(status_pages("VmSwap") - swapped));
}

/* Zap every third page; of lazyfree memory, write every 33rd again. */
static void wear(enum kind kind, char *mem)
{
	/* Zapping what looks used would activate its folio. */
	write_text("/proc/self/clear_refs", "1");
	for (long i = 0; i < PAGES; i += 3)
		madvise(mem + i * PAGE, PAGE, MADV_DONTNEED);
	for (long i = 1; i < PAGES; i += 33)
		if (kind == LAZYFREE)
			mem[i * PAGE] = 1;
}

static void reclaim(enum kind kind)
{
	write_text("/proc/self/clear_refs", "1");
	if (kind == SHMEM)
		reclaim_all(2 * LEN);
	else
		reclaim_file(2 * LEN);
}

TEST_LONG(accounting, rss_partial)
{
	long left;

	if (variant->kind == LAZYFREE)
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	wear(variant->kind, self->mem);
	reclaim(variant->kind);
	left = count_pages(self->mem, LEN, PM_PRESENT);
	ASSERT_GT(2 * PAGES / 3, left);
	EXPECT_GE(SLACK, llabs(status_pages(self->rss_name) - self->rss - left));
}

TEST_LONG(accounting, rss_at_exit)
{
	int log = kmsg_open(), status;
	pid_t child;

	if (log < 0)
		SKIP(return, "no kernel log at /dev/kmsg");
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		munmap(self->mem, LEN);
		self->mem = populate(variant->kind, self->fd);
		if (!self->mem || !pageout(variant->kind, self->mem))
			_exit(1);
		fill(self->mem, LEN, SEED);
		if (variant->kind == LAZYFREE && madvise(self->mem, LEN, MADV_FREE))
			_exit(1);
		wear(variant->kind, self->mem);
		reclaim(variant->kind);
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	usleep(1000);
	EXPECT_FALSE(kmsg_has(log, "BUG: Bad"));
	close(log);
}

TEST_LONG(accounting, cgroup_counters)
{
	static const char * const names[] = { "anon", "shmem", "file_mapped" };
	const char *name = names[variant->kind];
	long long before = cgroup_stat(name);

	ASSERT_TRUE(pageout(variant->kind, self->mem));
	EXPECT_GE(SLACK * (long)PAGE, llabs(before - cgroup_stat(name) - (long)LEN));
}

static long long sum_orders(int weighted)
{
	long long sum = 0;
	char name[16];

	for (int order = 0; order < 10; order++) {
		snprintf(name, sizeof(name), "run_order_%d", order);
		sum += unmap_stat(name) << (weighted ? order : 0);
	}
	return sum;
}

TEST_LONG(accounting, runs)
{
	long long runs = unmap_stat("evict_runs"), entries = unmap_stat("evict_entries");
	long long orders = sum_orders(0), weights = sum_orders(1);
	long long put_back = unmap_stat("put_back_runs");

	if (!variant->on)
		SKIP(return, "stock code counts no runs");
	ASSERT_TRUE(pageout(variant->kind, self->mem));
	EXPECT_EQ((long)(LEN / KIB / variant->kib), unmap_stat("evict_runs") - runs);
	EXPECT_EQ(PAGES, unmap_stat("evict_entries") - entries);
	EXPECT_EQ(unmap_stat("evict_runs") - runs, sum_orders(0) - orders);
	EXPECT_EQ(unmap_stat("evict_entries") - entries, sum_orders(1) - weights);
	EXPECT_EQ(put_back, unmap_stat("put_back_runs"));
	EXPECT_LT(0, unmap_stat("flushes") + unmap_stat("flushes_deferred"));
}

/* Counters that only large anonymous folios have. */
FIXTURE(lazyfree_accounting) {
	char *mem;
};

FIXTURE_VARIANT(lazyfree_accounting) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(lazyfree_accounting, 64);
SIZE_VARIANTS(lazyfree_accounting, 1024);

FIXTURE_SETUP(lazyfree_accounting)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->mem = populate(LAZYFREE, -1);
	ASSERT_NE(NULL, self->mem);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
}

FIXTURE_TEARDOWN(lazyfree_accounting)
{
	end();
}

TEST_LONG(lazyfree_accounting, split_deferred)
{
	long long split = folio_stat(variant->kib, "split_deferred");

	ASSERT_TRUE(pageout(LAZYFREE, self->mem));
	split = folio_stat(variant->kib, "split_deferred") - split;
	/* Switched off, stock 6.12 queues every folio, later kernels none. */
	EXPECT_TRUE(split == 0 || (!variant->on && split == (long)(LEN / KIB / variant->kib)));
}

TEST_LONG(lazyfree_accounting, folio_counters)
{
	long folios = LEN / KIB / variant->kib;
	long long before, partly;

	if (variant->kib * KIB == PAGE)
		SKIP(return, "single pages are not counted");
	before = folio_stat(variant->kib, "nr_anon");
	partly = folio_stat(variant->kib, "nr_anon_partially_mapped");
	ASSERT_LE(folios, before);
	ASSERT_TRUE(pageout(LAZYFREE, self->mem));
	EXPECT_EQ(folios, before - folio_stat(variant->kib, "nr_anon"));
	EXPECT_EQ(partly, folio_stat(variant->kib, "nr_anon_partially_mapped"));
}

TEST_LONG(lazyfree_accounting, events)
{
	long long freed = vmstat("pglazyfreed");
	long gone;

	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	for (long i = 0; i < PAGES; i += 70)
		self->mem[i * PAGE] = 1;
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	gone = PAGES - count_pages(self->mem, LEN, PM_PRESENT | PM_SWAP);
	/* A folio that stays may have lost entries, but it is not counted as freed. */
	EXPECT_GE(gone, vmstat("pglazyfreed") - freed);
	EXPECT_EQ(0, (vmstat("pglazyfreed") - freed) % (long)(variant->kib * KIB / PAGE));
	for (long i = 0; i < PAGES; i += 70)
		EXPECT_EQ(1, self->mem[i * PAGE]);
}

TEST_HARNESS_MAIN
