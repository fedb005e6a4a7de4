// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration takes a folio's entries out and puts them back in runs (law 16).  /dev/unmap_test
 * moves the folios of a range.
 *
 * whole       content, size and rss are as before, and no folio counts as partially mapped
 * shrunk      what has moved is still whole after a shrinker had a look at it
 * marks       soft-dirty and userfaultfd's write protection, in every other entry
 * untracked   a store after soft-dirty was cleared is noticed, also of what has moved since
 *             (what is cleared while it moves: scene moved_cleared)
 * shared      of each folio one half is shared with a child: it stays copy-on-write
 * readonly    entries that a part of the range has read-only stay so
 * unwritten   a page of a file that nobody has written does not become writable without the file
 *             system being told, because a page beside it was written
 * aged        pages that were not accessed lately look so, but for a few beside those that were
 * lazyfree    freed memory that moves can still be dropped, or is kept if it is written
 * referenced  a folio with an extra reference stays where it is, with all of its entries
 * pinned      so does one that a device may use, and the device sees what is written
 * half_there  a folio of which half is not mapped is moved, and may be split
 * two_tables  a folio that two page tables map
 * mlocked     memory that is locked stays locked
 * merged      pages that KSM has merged: entries of several pages lead to one
 * refused     there is no memory for some of the folios: those stay
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../../../../mm/gup_test.h"
#include "../../../../mm/unmap/tests/driver.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define DEVICE		"/dev/unmap_test"
#define GUP_TEST	"/sys/kernel/debug/gup_test"
#define LEN		RANGE
#define PAGES		((long)(LEN / PAGE))
#define SEED		29
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

FIXTURE(relocate) {
	char *mem;
	size_t folio;
	int device, fd;
	long long runs, partly;
	__u64 before[LEN / PAGE];
};

FIXTURE_VARIANT(relocate) {
	unsigned long kib;
	enum kind kind;
	bool on;
};

#define RELOCATE_VARIANTS(name, size, memory)						\
	FIXTURE_VARIANT_ADD(relocate, name ## _ ## size ## K_on) {			\
		.kib = FOLIO_KIB(size), .kind = memory, .on = true };			\
	FIXTURE_VARIANT_ADD(relocate, name ## _ ## size ## K_off) {			\
		.kib = FOLIO_KIB(size), .kind = memory, .on = false }

RELOCATE_VARIANTS(anon, 4, ANON);
RELOCATE_VARIANTS(anon, 64, ANON);
RELOCATE_VARIANTS(anon, 1024, ANON);
RELOCATE_VARIANTS(shmem, 64, SHMEM);
RELOCATE_VARIANTS(file, 64, FILE_SHARED);

static int open_kind(enum kind kind, unsigned long kib)
{
	int fd;

	if (kind == ANON)
		return -1;
	if (kind == FILE_SHARED)
		return xfs_file(LEN, SEED, kib);
	fd = memfd_create("relocate", MFD_CLOEXEC);
	return !ftruncate(fd, LEN) ? fd : -2;
}

static char *map_kind(enum kind kind, int fd)
{
	int flags = kind == ANON ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, flags, fd);

	if (mem != MAP_FAILED)
		fill(mem, LEN, SEED);
	return mem;
}

FIXTURE_SETUP(relocate)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->device = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->device);
	self->folio = variant->kib * KIB;
	self->fd = open_kind(variant->kind, variant->kib);
	ASSERT_LE(-1, self->fd);
	self->mem = map_kind(variant->kind, self->fd);
	ASSERT_NE(MAP_FAILED, self->mem);
	if (variant->kind == ANON)
		ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	self->runs = unmap_stat("relocate_runs");
	self->partly = folio_stat(variant->kib, "nr_anon_partially_mapped");
}

FIXTURE_TEARDOWN(relocate)
{
	if (self->mem)
		munmap(self->mem, LEN);
	if (self->fd >= 0)
		close(self->fd);
	close(self->device);
	end();
}

/* Move the folios of a range.  Returns how many pages have moved. */
static long move_range(int device, const char *mem, size_t len)
{
	struct unmap_driver_range range = { .addr = (uintptr_t)mem, .pages = len / PAGE };

	return ioctl(device, UNMAP_DRIVER_MOVE, &range);
}

/* Pages that are not where they were, or have lost one of @bits, or got it. */
static long count_changed(const __u64 *before, const char *mem, __u64 bits)
{
	__u64 after[LEN / PAGE];
	long changed = 0;

	pagemap_range(mem, after, PAGES);
	for (long i = 0; i < PAGES; i++)
		changed += !((before[i] ^ after[i]) & bits) ? 0 : 1;
	return changed;
}

static long count_moved(const __u64 *before, const char *mem)
{
	__u64 after[LEN / PAGE];
	long moved = 0;

	pagemap_range(mem, after, PAGES);
	for (long i = 0; i < PAGES; i++)
		moved += PAGEMAP_PFN(before[i]) != PAGEMAP_PFN(after[i]);
	return moved;
}

/* Move everything; true if each page has moved, and has its content. */
static bool move_all(int device, const char *mem, unsigned char seed)
{
	static __u64 before[LEN / PAGE];

	pagemap_range(mem, before, PAGES);
	CHECK_EQ(PAGES, move_range(device, mem, LEN));
	CHECK_EQ(PAGES, count_moved(before, mem));
	CHECK_EQ(0, count_wrong(mem, LEN, seed));
	return true;
}

/* Single pages have no runs: together.c. */
static bool in_runs(size_t folio, bool on)
{
	return on && folio > PAGE && switch_has(UNMAP_RELOCATE);
}

TEST_LONG(relocate, whole)
{
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	EXPECT_EQ((long)(LEN / KIB), smaps_kib(self->mem, LEN, "Rss"));
	if (in_runs(self->folio, variant->on)) {
		EXPECT_LE((long)(LEN / self->folio), unmap_stat("relocate_runs") - self->runs);
		EXPECT_EQ(self->partly, folio_stat(variant->kib, "nr_anon_partially_mapped"));
	} else {
		EXPECT_EQ(self->runs, unmap_stat("relocate_runs"));
	}
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	if (in_runs(self->folio, variant->on) && variant->kind == ANON)
		EXPECT_TRUE(folios_are(self->mem, LEN, variant->kib));
}

TEST_LONG(relocate, shrunk)
{
	if (variant->kind != ANON || !in_runs(self->folio, variant->on))
		SKIP(return, "stock splits what has moved");
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	ASSERT_TRUE(write_text("/proc/sys/vm/drop_caches", "2"));
	EXPECT_TRUE(folios_are(self->mem, LEN, variant->kib));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
}

TEST_LONG(relocate, marks)
{
	bool soft_dirty = soft_dirty_works();	/* it clears them, too */
	int uffd;

	if (variant->kind == FILE_SHARED)
		SKIP(return, "no write protection of files by userfaultfd");
	uffd = uffd_open(self->mem, LEN);
	ASSERT_LE(0, uffd);
	for (long i = 0; i < PAGES; i += 2)
		ASSERT_TRUE(uffd_protect(uffd, self->mem + i * PAGE, PAGE, true));
	ASSERT_TRUE(write_text("/proc/self/clear_refs", "4"));
	for (long i = 1; i < PAGES; i += 4)
		self->mem[i * PAGE] = self->mem[i * PAGE];
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_UFFD_WP | PM_PRESENT));
	if (soft_dirty)
		EXPECT_EQ(0, count_changed(self->before, self->mem, PM_SOFT_DIRTY));
	for (long i = 0; i < PAGES; i++)
		ASSERT_EQ(!!(i % 2), try_write(self->mem + i * PAGE, fill_byte(i, SEED)));
	close(uffd);
}

TEST_LONG(relocate, untracked)
{
	if (!soft_dirty_works())
		SKIP(return, "needs soft-dirty bits");
	ASSERT_TRUE(write_text("/proc/self/clear_refs", "4"));
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	EXPECT_EQ(0, count_pages(self->mem, LEN, PM_SOFT_DIRTY));
	for (long i = 0; i < PAGES; i += 3)
		WRITE_ONCE(self->mem[i * PAGE], self->mem[i * PAGE]);
	EXPECT_EQ((PAGES + 2) / 3, count_pages(self->mem, LEN, PM_SOFT_DIRTY));
}

/* The second half of each folio, which a child has, too. */
static long count_shared_wrong(const char *mem, size_t folio, unsigned char seed)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		if (i * PAGE % folio >= folio / 2)
			wrong += !page_is(mem + i * PAGE, fill_byte(i, seed));
	return wrong;
}

/* A child that has what its parent had, whatever the parent writes meanwhile. */
static bool child_keeps(const char *mem, size_t folio, int go)
{
	char byte;

	CHECK(read(go, &byte, 1) == 1);
	CHECK_EQ(0, count_shared_wrong(mem, folio, SEED));
	return true;
}

/* The first half of each folio is not inherited; the VMA is one again afterwards. */
static pid_t fork_halves(char *mem, size_t folio, int go[2])
{
	pid_t pid;

	for (size_t at = 0; at < LEN; at += folio)
		if (madvise(mem + at, folio / 2 / PAGE * PAGE, MADV_DONTFORK))
			return -1;
	if (pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(child_keeps(mem, folio, go[0]) ? 0 : 1);
	}
	return madvise(mem, LEN, MADV_DOFORK) ? -1 : pid;
}

TEST_LONG(relocate, shared)
{
	int go[2], status = -1;
	pid_t pid;

	if (variant->kind != ANON)
		SKIP(return, "nothing is copied on write");
	pid = fork_halves(self->mem, self->folio, go);
	ASSERT_LT(0, pid);
	/* Read-only, the entries of a folio differ in nothing but whether they are exclusive. */
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ));
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ | PROT_WRITE));
	fill(self->mem, LEN, SEED + 1);
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
}

TEST_LONG(relocate, readonly)
{
	/* A part of each folio, so that entries of one folio differ. */
	for (size_t at = 0; at < LEN; at += 16 * PAGE)
		ASSERT_EQ(0, mprotect(self->mem + at, 8 * PAGE, PROT_READ));
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	for (size_t at = 0; at < LEN; at += 16 * PAGE)
		ASSERT_EQ(0, mprotect(self->mem + at, 8 * PAGE, PROT_READ | PROT_WRITE));
	fill(self->mem, LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
}

#define STRIDE	(16 * PAGE)
#define SPARSE	"/mnt/relocate"

/* A file that has no blocks, mapped in the large folios of read-ahead. */
static char *map_sparse(int *fd)
{
	static char buf[STRIDE];
	char *mem;

	*fd = open(SPARSE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (*fd < 0 || unlink(SPARSE) || ftruncate(*fd, LEN))
		return MAP_FAILED;
	while (read(*fd, buf, sizeof(buf)) > 0)
		;
	mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, *fd);
	if (mem != MAP_FAILED && madvise(mem, LEN, MADV_POPULATE_READ))
		return MAP_FAILED;
	return mem;
}

/* Pages in which the file does not have @byte at @from, @from + STRIDE, and so on. */
static long count_lost(int fd, size_t from, char byte)
{
	long lost = 0;
	char found;

	for (size_t at = from; at < LEN; at += STRIDE)
		lost += pread(fd, &found, 1, at) != 1 || found != byte;
	return lost;
}

TEST_LONG(relocate, unwritten)
{
	char *mem;
	int fd;

	if (variant->kind != FILE_SHARED)
		SKIP(return, "needs a file");
	mem = map_sparse(&fd);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_TRUE(!!(page_flags(mem + LEN - PAGE) & PAGE_TAIL));
	for (size_t at = 0; at < LEN; at += STRIDE)
		mem[at] = 'a';
	ASSERT_EQ(0, mprotect(mem, LEN, PROT_READ));
	ASSERT_EQ(PAGES, move_range(self->device, mem, LEN));
	ASSERT_EQ(0, mprotect(mem, LEN, PROT_READ | PROT_WRITE));
	for (size_t at = 5 * PAGE; at < LEN; at += STRIDE)
		mem[at] = 'b';
	ASSERT_EQ(0, fsync(fd));
	ASSERT_EQ(0, munmap(mem, LEN));
	drop_caches();
	EXPECT_EQ(0, count_lost(fd, 0, 'a'));
	EXPECT_EQ(0, count_lost(fd, 5 * PAGE, 'b'));
	close(fd);
}

TEST_LONG(relocate, aged)
{
	long used = 0;

	ASSERT_TRUE(write_text("/proc/self/clear_refs", "1"));
	/* It does not flush: the TLB would hide accesses. */
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_NONE));
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ | PROT_WRITE));
	for (size_t at = 0; at < LEN; at += 128 * PAGE, used++)
		page_is(self->mem + at, 0);
	ASSERT_EQ(PAGES, move_range(self->device, self->mem, LEN));
	EXPECT_LE(used * (long)(PAGE / KIB), smaps_kib(self->mem, LEN, "Referenced"));
	/* Where 64 KiB are one folio, a page cannot be told from those beside it. */
	EXPECT_GE(used * 32 * (long)(PAGE / KIB), smaps_kib(self->mem, LEN, "Referenced"));
}

TEST_LONG(relocate, lazyfree)
{
	if (variant->kind != ANON)
		SKIP(return, "MADV_FREE takes anonymous memory only");
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	/* The first half is used again. */
	for (long i = 0; i < PAGES / 2; i++)
		self->mem[i * PAGE] = fill_byte(i, SEED);
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN / 2, SEED));
	EXPECT_EQ(0, count_not_zero(self->mem + LEN / 2, LEN / 2));
}

TEST_LONG(relocate, referenced)
{
	struct pin pin;

	ASSERT_TRUE(pin_open(&pin));
	for (size_t at = 0; at < LEN && at < 128 * self->folio; at += 2 * self->folio)
		ASSERT_TRUE(pin_page(&pin, self->mem + at + at / 2 % self->folio));
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_LE(0, move_range(self->device, self->mem, LEN));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_PRESENT | PM_SOFT_DIRTY));
	EXPECT_EQ(PAGEMAP_PFN(self->before[0]), PAGEMAP_PFN(pagemap(self->mem)));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	fill(self->mem, LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
	unpin(&pin);
	ASSERT_TRUE(move_all(self->device, self->mem, SEED + 1));
}

/* Pin pages as a device does for long. */
static int pin_for_device(char *mem, size_t len)
{
	struct pin_longterm_test range = {
		.addr = (uintptr_t)mem, .size = len, .flags = PIN_LONGTERM_TEST_FLAG_USE_WRITE,
	};
	int fd = open(GUP_TEST, O_RDWR);

	if (fd < 0 || !ioctl(fd, PIN_LONGTERM_TEST_START, &range))
		return fd;
	close(fd);
	return -1;
}

static bool device_sees(int fd, size_t len, unsigned char seed)
{
	char *seen = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 addr = (uintptr_t)seen;

	CHECK(seen != MAP_FAILED);
	CHECK(!ioctl(fd, PIN_LONGTERM_TEST_READ, &addr));
	CHECK_EQ(0, count_wrong(seen, len, seed));
	munmap(seen, len);
	return true;
}

TEST_LONG(relocate, pinned)
{
	size_t len = 3 * PAGE;
	long long pinned;
	int fd;

	if (variant->kind != ANON || access(GUP_TEST, F_OK))
		SKIP(return, "needs CONFIG_GUP_TEST and anonymous memory");
	fd = pin_for_device(self->mem, len);
	ASSERT_LE(0, fd);
	pinned = unmap_stat("relocate_pinned");
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_LE(0, move_range(self->device, self->mem, LEN));
	EXPECT_EQ(PAGEMAP_PFN(self->before[0]), PAGEMAP_PFN(pagemap(self->mem)));
	if (in_runs(self->folio, variant->on))
		EXPECT_LT(pinned, unmap_stat("relocate_pinned"));
	fill(self->mem, LEN, SEED + 1);
	EXPECT_TRUE(device_sees(fd, len, SEED + 1));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
	close(fd);
}

TEST_LONG(relocate, half_there)
{
	long every = self->folio / PAGE;

	if (every < 4 || variant->kind != ANON)
		SKIP(return, "needs anonymous folios that can be split");
	for (size_t at = 0; at < LEN; at += self->folio)
		ASSERT_EQ(0, madvise(self->mem + at, self->folio / 2, MADV_DONTNEED));
	ASSERT_LE(PAGES / 2, move_range(self->device, self->mem, LEN));
	for (long i = 0; i < PAGES; i++)
		EXPECT_TRUE(page_is(self->mem + i * PAGE,
				    i % every < every / 2 ? 0 : fill_byte(i, SEED)));
}

TEST_LONG(relocate, two_tables)
{
	char *to;

	if (variant->kind != ANON)
		SKIP(return, "needs anonymous memory");
	/* The new place is half a folio off, so that each second table begins in a folio. */
	to = map_aligned(2 * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, to);
	to += PMD - self->folio / 2 / PAGE * PAGE;
	ASSERT_EQ(to, mremap(self->mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	self->mem = to;
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	if (in_runs(self->folio, variant->on))
		EXPECT_EQ(self->partly, folio_stat(variant->kib, "nr_anon_partially_mapped"));
}

TEST_LONG(relocate, mlocked)
{
	long long locked = status_pages("VmLck");

	ASSERT_EQ(0, mlock(self->mem, LEN));
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
	EXPECT_EQ(locked + PAGES, status_pages("VmLck"));
	madvise(self->mem, LEN, MADV_PAGEOUT);
	reclaim_all(LEN);
	EXPECT_EQ(PAGES, count_pages(self->mem, LEN, PM_PRESENT));
	ASSERT_EQ(0, munlock(self->mem, LEN));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
}

#define KSM	"/sys/kernel/mm/ksm/"

/* Every other quarter of the range becomes pages of KSM's, which it finds three times at least. */
static bool merge_quarters(char *mem)
{
	for (long i = 0; i < PAGES; i++)
		if (i / (PAGES / 4) % 2)
			memset(mem + i * PAGE, fill_byte(i % 8, SEED), PAGE);
	for (long at = PAGES / 4; at < PAGES; at += PAGES / 2)
		CHECK(!madvise(mem + at * PAGE, LEN / 4, MADV_MERGEABLE));
	CHECK(write_text(KSM "pages_to_scan", "4096"));
	CHECK(write_text(KSM "run", "1"));
	AWAIT(count_shared(mem, LEN) == PAGES / 2);
	return true;
}

static bool quarters_are_right(const char *mem)
{
	for (long i = 0; i < PAGES; i++)
		CHECK(page_is(mem + i * PAGE,
			      fill_byte(i / (PAGES / 4) % 2 ? i % 8 : i, SEED)));
	return true;
}

TEST_LONG(relocate, merged)
{
	bool merged;

	if (variant->kind != ANON || access(KSM "run", W_OK))
		SKIP(return, "needs CONFIG_KSM and anonymous memory");
	merged = merge_quarters(self->mem);
	write_text(KSM "run", "0");
	ASSERT_TRUE(merged);
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_LT(0, move_range(self->device, self->mem, LEN));
	EXPECT_EQ(PAGES, count_moved(self->before, self->mem));
	EXPECT_EQ(PAGES / 2, count_shared(self->mem, LEN));
	ASSERT_TRUE(quarters_are_right(self->mem));
	/* A store to one of them is seen through no other entry. */
	self->mem[LEN / 4] = fill_byte(0, SEED) + 1;
	EXPECT_TRUE(page_is(self->mem + LEN / 4 + 8 * PAGE, fill_byte(0, SEED)));
	self->mem[LEN / 4] = fill_byte(0, SEED);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_UNMERGEABLE));
	EXPECT_TRUE(quarters_are_right(self->mem));
}

/* Half of the allocations fail.  Where large folios are few, all may move, or none. */
static bool move_some(int device, const char *mem)
{
	static __u64 before[LEN / PAGE];
	long moved, failed;

	for (int round = 0; round < 50; round++) {
		pagemap_range(mem, before, PAGES);
		CHECK(faults_on("fail_page_alloc", "alloc_migration_target", 50));
		moved = move_range(device, mem, LEN);
		failed = faults_off("fail_page_alloc");
		/* Pages of a file that was split are not mapped until they are read. */
		CHECK_EQ(0, count_wrong(mem, LEN, SEED));
		CHECK_EQ(moved, count_moved(before, mem));
		if (failed > 0 && moved > 0 && moved < PAGES)
			return true;
	}
	CHECK(!"some folios, but not all, were refused");
	return false;
}

TEST_LONG(relocate, refused)
{
	EXPECT_TRUE(move_some(self->device, self->mem));
	EXPECT_EQ((long)(LEN / KIB), smaps_kib(self->mem, LEN, "Rss"));
	ASSERT_TRUE(move_all(self->device, self->mem, SEED));
}

TEST_HARNESS_MAIN
