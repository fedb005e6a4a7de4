// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discarding memory: MADV_DONTNEED, munmap(), exit, hole punch.
 *
 * content        discarded pages read as zero or as the file; their neighbours stay (law 2)
 * full_gather    the same when the mmu_gather has room for only a few pages
 * mixed          tables with entries of every kind, pieces of any size (seed printed)
 * statistics     the control group's anon, file_mapped or shmem falls by what was discarded
 *                (law 4)
 * exits          a process that exits leaves no counter behind (law 4)
 * dirty          shmem whose dirty bits are in its entries only is not lost with them
 * image          what was written through mappings is in the files after unmount (XFS marks
 *                folios dirty at the write fault)
 * twice          a folio mapped in two places is unmapped from one of them only
 * mlocked        MADV_DONTNEED_LOCKED reduces the count of locked pages
 * uffd_wp        shmem stays write-protected, page by page, when it is discarded
 * uffd_rwp       read-write protection (Linux 7.3) goes with the pages; their neighbours keep it
 * guards         guard regions stay; what is beside them goes, or stays where nothing is
 *                discarded (Linux 7.3)
 * cowed          private copies stay when a hole is punched in the file below
 * faulted        another CPU faults pages in at the same time
 * many           more huge pages of shared memory than share a flush, with a half at either end:
 *                their neighbours stay, and counters fall (laws 1 and 4)
 * sooner         a discard of many large folios frees them before its end, and less often where
 *                there are threads, which each flush may interrupt
 * stale          a CPU that has just read pages does not read them once they are discarded (law 1)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "parts/discard/discard.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif

#define ROUNDS		48
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

/* Each CPU may hold back a batch of a counter's changes. */
#define SLACK	((long)(64 * sysconf(_SC_NPROCESSORS_ONLN)))

enum backing { PRIVATE, SHARED_MEMORY, SHARED_FILE, COPIED };

static int open_backing(enum backing backing, unsigned long kib)
{
	int fd;

	if (backing == SHARED_FILE || backing == COPIED)
		return xfs_file(LEN, SEED, kib);
	fd = memfd_create("unmap", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, LEN) ? fd : -1;
}

/* Map LEN bytes, and fill them through the mapping. */
static char *map_backing(enum backing backing, int fd)
{
	int flags = backing == PRIVATE ? MAP_PRIVATE | MAP_ANONYMOUS :
		    backing == COPIED ? MAP_PRIVATE : MAP_SHARED;
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, flags,
				backing == PRIVATE ? -1 : fd);

	if (mem == MAP_FAILED)
		return NULL;
	fill(mem, LEN, backing == COPIED ? OTHER : SEED);
	return mem;
}

struct memory {
	int fd;
	char *mem;
};

/* NULL, or what the machine lacks. */
static const char *prepare(struct memory *memory, enum backing backing, unsigned long kib,
			   bool on)
{
	const char *missing = begin(kib, on);

	if (missing)
		return missing;
	memory->fd = open_backing(backing, kib);
	memory->mem = memory->fd < 0 ? NULL : map_backing(backing, memory->fd);
	if (memory->mem)
		return NULL;
	end();
	return "needs XFS at /mnt";
}

#define MEMORY_FIXTURE(name)							\
	FIXTURE(name) {								\
		struct memory memory;						\
		char *mem;							\
		int fd;								\
	};									\
	FIXTURE_VARIANT(name) {							\
		enum backing backing;						\
		unsigned long kib;						\
		bool on;							\
	};									\
	FIXTURE_SETUP(name)							\
	{									\
		const char *missing = prepare(&self->memory, variant->backing,	\
					      variant->kib, variant->on);	\
										\
		if (missing)							\
			SKIP(return, "%s", missing);				\
		self->mem = self->memory.mem;					\
		self->fd = self->memory.fd;					\
	}									\
	FIXTURE_TEARDOWN(name)							\
	{									\
		close(self->fd);						\
		end();								\
	}

#define VARIANTS(name, prefix, what, size)					\
	FIXTURE_VARIANT_ADD(name, prefix ## _ ## size ## K_on) {		\
		.backing = what, .kib = FOLIO_KIB(size), .on = true };			\
	FIXTURE_VARIANT_ADD(name, prefix ## _ ## size ## K_off) {		\
		.backing = what, .kib = FOLIO_KIB(size) }

MEMORY_FIXTURE(discard);
VARIANTS(discard, anon, PRIVATE, 4);
VARIANTS(discard, anon, PRIVATE, 64);
VARIANTS(discard, anon, PRIVATE, 1024);
VARIANTS(discard, shmem, SHARED_MEMORY, 4);
VARIANTS(discard, shmem, SHARED_MEMORY, 64);
VARIANTS(discard, shmem, SHARED_MEMORY, 2048);
VARIANTS(discard, file, SHARED_FILE, 64);
VARIANTS(discard, file, SHARED_FILE, 2048);
VARIANTS(discard, copied, COPIED, 64);

/* Whether a discarded page reads as it should: as zero, or as the file. */
static bool page_discarded(enum backing backing, const char *mem, long page)
{
	unsigned char byte = backing == PRIVATE ? 0 : fill_byte(page, SEED);

	return page_is(mem + page * PAGE, byte);
}

static bool page_kept(enum backing backing, const char *mem, long page)
{
	return page_is(mem + page * PAGE,
		       fill_byte(page, backing == COPIED ? OTHER : SEED));
}

/* The number of pages with wrong content after pages [from, to) were discarded. */
static long wrong_after(enum backing backing, const char *mem, long from, long to)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += i >= from && i < to ? !page_discarded(backing, mem, i) :
					       !page_kept(backing, mem, i);
	return wrong;
}

TEST_LONG(discard, content)
{
	static const long cuts[][2] = { { 0, PAGES }, { 3, 5 }, { 15, 17 }, { 1, PAGES - 1 },
					{ 16, 32 }, { 100, 333 }, { PAGES - 1, PAGES } };

	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		long from = cuts[i][0], to = cuts[i][1];

		/* Empty the table first: next to a mapped page, faults allocate single pages. */
		ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
		fill(self->mem, LEN, variant->backing == COPIED ? OTHER : SEED);
		ASSERT_TRUE(discard_pages(self->mem, from, to));
		EXPECT_EQ(0, count_pages(self->mem + from * PAGE, (to - from) * PAGE,
					 PM_PRESENT | PM_SWAP));
		EXPECT_EQ(0, wrong_after(variant->backing, self->mem, from, to)) {
			TH_LOG("after discarding [%ld, %ld)", from, to);
		}
	}
}

/* Page allocations of zap fail.  The function has another name in each kernel, newest first. */
static bool gather_fails(void)
{
	return faults_on("fail_page_alloc", "zap_vma_range_batched", 100) ||
	       faults_on("fail_page_alloc", "zap_page_range_single_batched", 100) ||
	       faults_on("fail_page_alloc", "zap_page_range_single", 100);
}

TEST_LONG(discard, full_gather)
{
	long failed = 0;

	if (access("/sys/kernel/debug/fail_page_alloc", F_OK))
		SKIP(return, "needs CONFIG_FAIL_PAGE_ALLOC");
	for (long from = 0; from < 12; from++) {
		fill(self->mem, LEN, variant->backing == COPIED ? OTHER : SEED);
		ASSERT_TRUE(gather_fails());
		EXPECT_TRUE(discard_pages(self->mem, from, PAGES - from / 2));
		failed += faults_off("fail_page_alloc");
		EXPECT_EQ(0, wrong_after(variant->backing, self->mem, from, PAGES - from / 2));
	}
	/* A huge page that is discarded whole needs no room. */
	EXPECT_TRUE(failed || variant->kib == PMD / KIB);
}

/* A counter of the control group, in pages. */
static long long pages_charged(enum backing backing)
{
	static const char * const names[] = { "anon", "file_mapped", "file_mapped", "anon" };

	return cgroup_stat(names[backing]) / (long long)PAGE;
}

/* What is read while another task adds up the counts of all processors may be an older number. */
static bool charged_becomes(enum backing backing, long long pages)
{
	AWAIT(llabs(pages_charged(backing) - pages) <= SLACK);
	return true;
}

TEST_LONG(discard, statistics)
{
	long long before = pages_charged(variant->backing), rss;

	for (int round = 0; round < ROUNDS; round++) {
		fill(self->mem, LEN, SEED);
		for (long i = 0; i < PAGES; i += PAGES / 8)
			ASSERT_TRUE(discard_pages(self->mem, i, i + PAGES / 8));
	}
	EXPECT_TRUE(charged_becomes(variant->backing, before - PAGES));
	fill(self->mem, LEN, SEED);
	EXPECT_TRUE(charged_becomes(variant->backing, before));
	rss = status_pages("VmRSS");
	ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
	EXPECT_GE(SLACK, llabs(status_pages("VmRSS") - (rss - PAGES)));
}

TEST_LONG(discard, exits)
{
	long long before = pages_charged(variant->backing);
	int log = kmsg_open(), status;
	pid_t pid;

	for (int i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			char *mem = map_backing(variant->backing, self->fd);

			if (i & 1)
				discard_pages(mem, 5 * i, 99);
			_exit(!mem);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_TRUE(kernel_is_calm(log));
	EXPECT_GE(SLACK, llabs(pages_charged(variant->backing) - before));
}

TEST_LONG(discard, mlocked)
{
	long long locked = vmstat("nr_mlock");

	ASSERT_EQ(0, mlock(self->mem, LEN));
	EXPECT_NE(0, madvise(self->mem, LEN, MADV_DONTNEED));
	EXPECT_LE(PAGES - SLACK, vmstat("nr_mlock") - locked);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DONTNEED_LOCKED));
	EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT));
	EXPECT_GE(SLACK, vmstat("nr_mlock") - locked);
}

TEST_LONG(discard, uffd_rwp)
{
	const long from = 5, to = 333;
	int uffd = rwp_open(self->mem, LEN);
	long wrong = 0;

	if (uffd < 0)
		SKIP(return, "%s", RWP_MISSING);
	ASSERT_TRUE(rwp_arm(uffd, self->mem, LEN, true));
	if (variant->kib == 2048 && !count_pages(self->mem, LEN, PM_PRESENT))
		SKIP(return, "stock unmaps a huge page of a file to protect a part of it");
	ASSERT_EQ(0, rwp_count_wrong(self->mem, LEN));
	ASSERT_TRUE(discard_pages(self->mem, from, to));
	for (long i = 0; i < PAGES; i++) {
		bool armed = rwp_is_armed(i) && (i < from || i >= to);

		wrong += !(pagemap(self->mem + i * PAGE) & PM_UFFD_WP) == armed;
		wrong += try_read(self->mem + i * PAGE) == armed;
	}
	EXPECT_EQ(0, wrong);
	ASSERT_TRUE(rwp_arm(uffd, self->mem, LEN, false));
	EXPECT_EQ(0, wrong_after(variant->backing, self->mem, from, to));
	close(uffd);
}

/* Longer than a folio of 64 KiB, and across the end of what is discarded. */
static bool set_guards(char *mem, bool on)
{
	return guard(mem + 20 * PAGE, 32 * PAGE, on) && guard(mem + 330 * PAGE, 10 * PAGE, on);
}

static bool has_guard(long page)
{
	return (page >= 20 && page < 52) || (page >= 330 && page < 340);
}

TEST_LONG(discard, guards)
{
	long wrong = 0;

	if (!set_guards(self->mem, true))
		SKIP(return, "%s", GUARDS_MISSING);
	ASSERT_TRUE(discard_pages(self->mem, 3, 333));
	for (long i = 0; i < PAGES; i++)
		wrong += is_guarded(self->mem + i * PAGE) != has_guard(i);
	EXPECT_EQ(0, wrong);
	ASSERT_TRUE(set_guards(self->mem, false));
	EXPECT_EQ(0, wrong_after(variant->backing, self->mem, 3, 340));
}

MEMORY_FIXTURE(shared);
VARIANTS(shared, shmem, SHARED_MEMORY, 4);
VARIANTS(shared, shmem, SHARED_MEMORY, 64);
VARIANTS(shared, file, SHARED_FILE, 4);
VARIANTS(shared, file, SHARED_FILE, 64);

/* Pages [from, to) should have mapcount 1, all others 2. */
static long wrong_mapcounts(const char *mem, long from, long to)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += page_mapcount(mem + i * PAGE) != (i >= from && i < to ? 1 : 2);
	return wrong;
}

TEST_LONG(shared, twice)
{
	char *twin = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd);

	ASSERT_NE(MAP_FAILED, twin);
	ASSERT_EQ(0, madvise(twin, LEN, MADV_POPULATE_READ));
	ASSERT_TRUE(discard_pages(self->mem, 7, 77));
	EXPECT_EQ(PAGES, count_pages(twin, LEN, PM_PRESENT));
	EXPECT_EQ(0, wrong_mapcounts(twin, 7, 77));
	EXPECT_EQ(0, count_wrong(twin, LEN, SEED));
	EXPECT_EQ(0, wrong_after(variant->backing, self->mem, 7, 77));
}

TEST_LONG(shared, uffd_wp)
{
	long told = 0, silent = 0;
	int uffd;

	if (variant->backing != SHARED_MEMORY)
		SKIP(return, "only shmem can be write-protected");
	uffd = uffd_open(self->mem, LEN);
	if (uffd < 0)
		SKIP(return, "needs userfaultfd write-protection for shmem");
	/* Whole folios, and parts of some. */
	for (long i = 0; i < PAGES; i += 64)
		ASSERT_TRUE(uffd_protect(uffd, self->mem + i * PAGE, 21 * PAGE, true));
	ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
	for (long i = 0; i < PAGES; i++) {
		bool wrote = try_write(self->mem + i * PAGE, 1);

		told += i % 64 < 21 && !wrote;
		silent += i % 64 >= 21 && wrote;
	}
	EXPECT_EQ(PAGES / 64 * 21, told);
	EXPECT_EQ(PAGES - PAGES / 64 * 21, silent);
	close(uffd);
}

MEMORY_FIXTURE(shmem);
VARIANTS(shmem, shmem, SHARED_MEMORY, 4);
VARIANTS(shmem, shmem, SHARED_MEMORY, 64);
VARIANTS(shmem, shmem, SHARED_MEMORY, 2048);

/*
 * A read fault fills a hole with a clean folio and maps it writable: a write after that
 * sets the dirty bit of the entry only.
 */
TEST_LONG(shmem, dirty)
{
	struct scene scene = { .fd = self->fd };

	if (!swap_is_on())
		SKIP(return, "needs swap");
	ASSERT_EQ(0, munmap(self->mem, LEN));
	for (size_t i = 0; i < NR_LEAVES; i++) {
		ASSERT_EQ(0, fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       0, LEN));
		ASSERT_TRUE(apart(leave[i], &scene));
		self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd);
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_POPULATE_READ));
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
		EXPECT_EQ(0, pages_cached(self->mem));
		EXPECT_EQ(0, count_wrong(self->mem, LEN, OTHER)) {
			TH_LOG("leave[%zu]", i);
		}
		munmap(self->mem, LEN);
	}
}

#define NR_HUGE	35L
#define HUGE_LEN	(NR_HUGE * PMD)

FIXTURE(huge) {
	char *mem;
	long rss;	/* without it */
};

FIXTURE_VARIANT(huge) {
	bool on;
};

FIXTURE_VARIANT_ADD(huge, on) { .on = true };
FIXTURE_VARIANT_ADD(huge, off) { .on = false };

FIXTURE_SETUP(huge)
{
	const char *missing = begin(PMD / KIB, variant->on);
	int fd = memfd_create("unmap", MFD_CLOEXEC);

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, HUGE_LEN));
	self->mem = map_aligned(HUGE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	ASSERT_NE(MAP_FAILED, self->mem);
	close(fd);
	self->rss = status_pages("RssShmem");
	fill(self->mem, HUGE_LEN, SEED);
	ASSERT_EQ(HUGE_LEN / KIB, smaps_kib(self->mem, HUGE_LEN, "ShmemPmdMapped"));
}

FIXTURE_TEARDOWN(huge)
{
	end();
}

TEST_LONG(huge, many)
{
	size_t len = HUGE_LEN - PMD;
	char *from = self->mem + PMD / 2;

	EXPECT_LE(HUGE_LEN / (long)PAGE - SLACK, status_pages("RssShmem") - self->rss);
	ASSERT_EQ(0, madvise(from, len, MADV_DONTNEED));
	EXPECT_EQ(0, count_pages(from, len, PM_PRESENT));
	EXPECT_GE(SLACK, llabs(status_pages("RssShmem") - self->rss));
	EXPECT_EQ(0, count_wrong(self->mem, HUGE_LEN, SEED));
	EXPECT_EQ(0, munmap(self->mem, HUGE_LEN));
	EXPECT_GE(SLACK, llabs(status_pages("RssShmem") - self->rss));
}

FIXTURE(image) {
	char device[64];
};

FIXTURE_VARIANT(image) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(image, 4);
SIZE_VARIANTS(image, 64);

FIXTURE_SETUP(image)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	if (device_of("/mnt", self->device))
		return;
	end();
	SKIP(return, "needs a disk at /mnt");
}

FIXTURE_TEARDOWN(image)
{
	end();
}

TEST_LONG(image, image)
{
	struct scene scene;
	char path[32];

	for (size_t i = 0; i < NR_LEAVES; i++) {
		file_name(path, i);
		scene.fd = xfs_file_named(path, LEN, SEED, variant->kib);
		if (scene.fd < 0)
			SKIP(return, "needs XFS at /mnt");
		ASSERT_TRUE(apart(leave[i], &scene));
		close(scene.fd);
	}
	if (umount("/mnt"))
		SKIP(return, "/mnt is busy");
	ASSERT_EQ(0, mount(self->device, "/mnt", "xfs", 0, NULL));
	for (size_t i = 0; i < NR_LEAVES; i++) {
		file_name(path, i);
		EXPECT_EQ(0, wrong_in_file(path)) {
			TH_LOG("leave[%zu]", i);
		}
		unlink(path);
	}
}

MEMORY_FIXTURE(copied);
VARIANTS(copied, file, COPIED, 4);
VARIANTS(copied, file, COPIED, 64);

TEST_LONG(copied, cowed)
{
	ASSERT_TRUE(discard_pages(self->mem, 64, 128));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_POPULATE_READ));
	ASSERT_EQ(0, fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	for (long i = 0; i < PAGES; i++) {
		bool hole = i >= 64 && i < 128;

		ASSERT_TRUE(hole ? page_is(self->mem + i * PAGE, 0) :
				   page_kept(COPIED, self->mem, i)) {
			TH_LOG("page %ld", i);
		}
	}
}

MEMORY_FIXTURE(anon);
VARIANTS(anon, anon, PRIVATE, 4);
VARIANTS(anon, anon, PRIVATE, 64);

/* In a process of its own: at its exit all counters must be zero. */
TEST_LONG(anon, mixed)
{
	struct scene nothing = { .fd = -1 };

	EXPECT_TRUE(apart(mixed_table, &nothing));
}

TEST_LONG(anon, faulted)
{
	if (!second_cpu())
		SKIP(return, "needs two CPUs");
	EXPECT_TRUE(discard_while_storing(self->mem));
}

TEST_LONG(anon, stale)
{
	if (!second_cpu())
		SKIP(return, "needs two CPUs");
	EXPECT_TRUE(discard_while_reading(self->mem));
}

/* Where they straddle a GiB, one part has half of them: more than 10,000 pages of 4 KiB. */
#define MANY		(48 * PMD)
/* Kernels for tests flush after 3 tables, or 12; the others after 20, or 128. */
#define OFTEN		4

FIXTURE(sooner) {
	int fds[2];
};

FIXTURE_VARIANT(sooner) {
	unsigned long kib;
};

FIXTURE_VARIANT_ADD(sooner, anon_4K_on) { .kib = 4 };
FIXTURE_VARIANT_ADD(sooner, anon_64K_on) { .kib = FOLIO_KIB(64) };
FIXTURE_VARIANT_ADD(sooner, anon_1024K_on) { .kib = 1024 };

FIXTURE_SETUP(sooner)
{
	const char *missing;

	if (PMD > 2 * MIB)
		SKIP(return, "too much memory, where a page table maps so much");
	missing = begin(variant->kib, true);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, pipe(self->fds));
}

FIXTURE_TEARDOWN(sooner)
{
	end();
}

/* How often discarding MANY bytes flushed before its end; -1 when something fails. */
static long long early_flushes(bool unmap)
{
	char *mem = map_aligned(MANY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	long long before, after;
	int err;

	if (mem == MAP_FAILED)
		return -1;
	fill(mem, MANY, SEED);
	before = unmap_stat("discard_flushes");
	err = unmap ? munmap(mem, MANY) : madvise(mem, MANY, MADV_DONTNEED);
	after = unmap_stat("discard_flushes");
	munmap(mem, MANY);
	return err || before < 0 ? -1 : after - before;
}

static void *wait_for_end(void *fd)
{
	char byte;

	return read(*(int *)fd, &byte, 1) ? NULL : fd;
}

TEST_LONG(sooner, sooner)
{
	bool large = variant->kib * KIB > PAGE;
	long long alone[2], beside;
	pthread_t thread;

	for (int unmap = 0; unmap < 2; unmap++) {
		alone[unmap] = early_flushes(unmap);
		EXPECT_LE(0, alone[unmap]);
		EXPECT_EQ(large, alone[unmap] > 0);
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_end, &self->fds[0]));
	for (int unmap = 0; unmap < 2; unmap++) {
		beside = early_flushes(unmap);
		EXPECT_LE(alone[unmap] >= OFTEN, beside);
		EXPECT_EQ(large, alone[unmap] > beside);
	}
	close(self->fds[1]);
	pthread_join(thread, NULL);
}

TEST_HARNESS_MAIN
