// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapped files and shared memory under reclaim: a file on XFS mapped shared and
 * privately, and shmem, which goes to swap.
 *
 * pageout           MADV_PAGEOUT evicts all pages; they read back as written
 * unaligned         folios that lie across two page tables (law 2)
 * vma_ends_inside   mappings that begin and end inside a folio (law 2)
 * mapped_twice      a folio mapped twice in one process is unmapped from both places
 * many_processes    a folio mapped by several processes at different addresses
 * cowed             private copies inside a file folio's range keep their data (law 2)
 * dirty             writes through the mapping reach the file (law 3: dirty bits are kept)
 * mlocked           a locked range stays as it is
 * uffd_wp           shmem: every protected page still reports its write (bug 4)
 * uffd_wp_whole     the same with every page protected (bug 4)
 * uffd_rwp          shmem: read-write protection (Linux 7.3) goes with the entries
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define SEED	11
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

enum kind { SHMEM, FILE_SHARED, FILE_PRIVATE };

FIXTURE(filemap) {
	int fd;
	char *mem;
};

FIXTURE_VARIANT(filemap) {
	enum kind kind;
	unsigned long kib;
	bool on;
};

#define VARIANTS(prefix, what, size) \
	FIXTURE_VARIANT_ADD(filemap, prefix ## _ ## size ## K_on) { \
		.kind = what, .kib = FOLIO_KIB(size), .on = true }; \
	FIXTURE_VARIANT_ADD(filemap, prefix ## _ ## size ## K_off) { \
		.kind = what, .kib = FOLIO_KIB(size) }

VARIANTS(shmem, SHMEM, 4);
VARIANTS(shmem, SHMEM, 64);
VARIANTS(shmem, SHMEM, 1024);
VARIANTS(shared, FILE_SHARED, 4);
VARIANTS(shared, FILE_SHARED, 64);
VARIANTS(shared, FILE_SHARED, 1024);
VARIANTS(private, FILE_PRIVATE, 64);

/* Clear the accessed bits before unmapping, so that no folio is activated. */
static void unmap_idle(char *mem, size_t len)
{
	write_text("/proc/self/clear_refs", "1");
	munmap(mem, len);
}

/* A file of LEN filled bytes in folios of the size; -1 if the machine lacks something. */
static int make_file(enum kind kind, unsigned long kib)
{
	char *mem;
	int fd;

	if (kind != SHMEM)
		return xfs_file(LEN, SEED, kib);
	if (!swap_is_on())
		return -1;
	fd = memfd_create("unmap", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, LEN))
		return -1;
	mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	fill(mem, LEN, SEED);
	unmap_idle(mem, LEN);
	return fd;
}

static int map_flags(enum kind kind)
{
	return kind == FILE_PRIVATE ? MAP_PRIVATE : MAP_SHARED;
}

/* Map every page by reading a byte of it. */
static void touch(const char *mem, size_t len)
{
	for (size_t i = 0; i < len; i += PAGE)
		READ_ONCE(mem[i]);
}

FIXTURE_SETUP(filemap)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->fd = make_file(variant->kind, variant->kib);
	if (self->fd < 0) {
		end();
		SKIP(return, "needs swap for shmem, XFS at /mnt for files");
	}
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, map_flags(variant->kind), self->fd);
	ASSERT_NE(MAP_FAILED, self->mem);
	touch(self->mem, LEN);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
}

FIXTURE_TEARDOWN(filemap)
{
	close(self->fd);
	end();
}

/* Reclaim first activates folios that are mapped in several places: run it twice. */
static void reclaim_all_of_it(enum kind kind)
{
	write_text("/proc/self/clear_refs", "1");
	for (int pass = 0; pass < 2; pass++) {
		if (kind == SHMEM)
			reclaim_all(2 * LEN);
		else
			reclaim_file(2 * LEN);
	}
}

TEST_LONG(filemap, pageout)
{
	long long runs = unmap_stat("evict_runs"), entries = unmap_stat("evict_entries");

	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT));
	if (variant->on) {
		EXPECT_EQ(PAGES, unmap_stat("evict_entries") - entries);
		EXPECT_EQ((long)(LEN / (variant->kib * KIB)), unmap_stat("evict_runs") - runs);
	}
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
}

TEST_LONG(filemap, unaligned)
{
	const size_t shifts[] = { 1, 5, PAGES - 1 };

	unmap_idle(self->mem, LEN);
	for (int i = 0; i < 3; i++) {
		char *arena = map_aligned(2 * PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		char *mem = mmap(arena + shifts[i] * PAGE, LEN, PROT_READ,
				 map_flags(variant->kind) | MAP_FIXED, self->fd, 0);

		ASSERT_NE(MAP_FAILED, mem);
		touch(mem, LEN);
		reclaim_all_of_it(variant->kind);
		EXPECT_EQ(0, count_pages(mem, LEN, PM_PRESENT));
		EXPECT_EQ(0, count_wrong(mem, LEN, SEED));
		unmap_idle(arena, 2 * PMD);
	}
}

TEST_LONG(filemap, vma_ends_inside)
{
	const size_t at = 3 * PAGE, len = 117 * PAGE;
	const size_t behind = at + len;
	char *other;

	unmap_idle(self->mem, LEN);
	self->mem = mmap(self->mem, len, PROT_READ, map_flags(variant->kind) | MAP_FIXED,
			 self->fd, at);
	other = mmap(self->mem + len, at, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ(self->mem + len, other);
	fill(other, at, 3);
	ASSERT_EQ(0, mlock(other, at));
	touch(self->mem, len);
	reclaim_all_of_it(variant->kind);
	EXPECT_EQ(0, count_pages(self->mem, len, PM_PRESENT));
	EXPECT_EQ(3, count_pages(other, at, PM_PRESENT));
	EXPECT_EQ(0, count_wrong(other, at, 3));
	EXPECT_TRUE(page_is(self->mem, fill_byte(at / PAGE, SEED)));
	EXPECT_TRUE(page_is(other - PAGE, fill_byte(behind / PAGE - 1, SEED)));
}

TEST_LONG(filemap, mapped_twice)
{
	char *twin = map_aligned(LEN + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	twin = mmap(twin + 7 * PAGE, LEN, PROT_READ, map_flags(variant->kind) | MAP_FIXED,
		    self->fd, 0);
	ASSERT_NE(MAP_FAILED, twin);
	touch(twin, LEN);
	reclaim_all_of_it(variant->kind);
	EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT));
	EXPECT_EQ(0, count_pages(twin, LEN, PM_PRESENT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	EXPECT_EQ(0, count_wrong(twin, LEN, SEED));
}

/* A child: map the file, shifted by @shift pages; report; check the pages when told to. */
static int share_file(int fd, enum kind kind, size_t shift, int ready, int go)
{
	char *arena = map_aligned(LEN + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *mem = mmap(arena + shift * PAGE, LEN, PROT_READ, map_flags(kind) | MAP_FIXED, fd, 0);
	char token = 0;

	if (mem == MAP_FAILED)
		return 1;
	touch(mem, LEN);
	write_text("/proc/self/clear_refs", "1");
	if (write(ready, &token, 1) != 1 || read(go, &token, 1))
		return 2;
	if (count_pages(mem, LEN, PM_PRESENT))
		return 3;
	return count_wrong(mem, LEN, SEED) ? 4 : 0;
}

TEST_LONG(filemap, many_processes)
{
	const size_t shifts[] = { 0, 1, 33 };
	int ready[2], go[2], status;
	char token;

	unmap_idle(self->mem, LEN);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		ASSERT_LE(0, child);
		if (!child) {
			close(go[1]);
			_exit(share_file(self->fd, variant->kind, shifts[i], ready[1], go[0]));
		}
		ASSERT_EQ(1, read(ready[0], &token, 1));
	}
	reclaim_all_of_it(variant->kind);
	close(go[1]);
	for (int i = 0; i < 3; i++) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, WEXITSTATUS(status));
	}
}

TEST_LONG(filemap, cowed)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd);

	if (!swap_is_on())
		SKIP(return, "private copies need swap");
	ASSERT_NE(MAP_FAILED, mem);
	munmap(self->mem, LEN);
	touch(mem, LEN);
	for (long i = 1; i < PAGES; i += 3)
		memset(mem + i * PAGE, fill_byte(i, SEED + 1), PAGE);
	write_text("/proc/self/clear_refs", "1");
	reclaim_file(2 * LEN);
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	for (long i = 0; i < PAGES; i++)
		ASSERT_TRUE(page_is(mem + i * PAGE, fill_byte(i, i % 3 == 1 ? SEED + 1 : SEED)));
}

TEST_LONG(filemap, dirty)
{
	if (variant->kind == FILE_PRIVATE)
		SKIP(return, "private changes do not reach the file");
	for (long i = 0; i < PAGES; i += 2)
		memset(self->mem + i * PAGE, fill_byte(i, SEED + 1), PAGE);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	munmap(self->mem, LEN);
	ASSERT_EQ(0, fsync(self->fd));
	drop_caches();
	self->mem = map_aligned(LEN, PROT_READ, MAP_SHARED, self->fd);
	for (long i = 0; i < PAGES; i++)
		ASSERT_TRUE(page_is(self->mem + i * PAGE,
				    fill_byte(i, i % 2 ? SEED : SEED + 1)));
}

TEST_LONG(filemap, mlocked)
{
	ASSERT_EQ(0, mlock(self->mem, LEN));
	EXPECT_EQ(-1, madvise(self->mem, LEN, MADV_PAGEOUT));
	reclaim_all_of_it(variant->kind);
	EXPECT_EQ(PAGES, count_pages(self->mem, LEN, PM_PRESENT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
}

static void check_uffd(struct __test_metadata *_metadata, char *mem, int every)
{
	__u64 entries[LEN / PAGE];
	int uffd = uffd_open(mem, LEN);
	long wrong = 0;

	if (uffd < 0)
		SKIP(return, "no userfaultfd write protection here");
	for (long i = 0; i < PAGES; i += every)
		ASSERT_TRUE(uffd_protect(uffd, mem + i * PAGE, PAGE, true));
	ASSERT_EQ((PAGES + every - 1) / every, count_pages(mem, LEN, PM_UFFD_WP));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_pages(mem, LEN, PM_PRESENT));
	pagemap_range(mem, entries, PAGES);
	for (long i = 0; i < PAGES; i++) {
		bool armed = i % every == 0;

		wrong += !(entries[i] & PM_UFFD_WP) == armed;
		wrong += try_write(mem + i * PAGE, 1) == armed;
	}
	EXPECT_EQ(0, wrong);
	close(uffd);
}

TEST_LONG(filemap, uffd_wp)
{
	if (variant->kind != SHMEM)
		SKIP(return, "files on XFS have no userfaultfd write protection");
	check_uffd(_metadata, self->mem, 2);
}

TEST_LONG(filemap, uffd_wp_whole)
{
	if (variant->kind != SHMEM)
		SKIP(return, "files on XFS have no userfaultfd write protection");
	check_uffd(_metadata, self->mem, 1);
}

/* There are no markers of this protection. */
TEST_LONG(filemap, uffd_rwp)
{
	int uffd = rwp_open(self->mem, LEN);

	if (uffd < 0)
		SKIP(return, "%s", RWP_MISSING);
	ASSERT_TRUE(rwp_arm(uffd, self->mem, LEN, true));
	ASSERT_EQ(0, rwp_count_wrong(self->mem, LEN));
	reclaim_all_of_it(variant->kind);
	EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT | PM_UFFD_WP));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	close(uffd);
}

TEST_HARNESS_MAIN
