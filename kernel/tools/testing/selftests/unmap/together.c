// SPDX-License-Identifier: GPL-2.0-only
/*
 * Single pages of one page table migrate together (law 16).  /dev/unmap_test moves the pages of a
 * range, from one end or the other, or no two neighbours one after the other.
 *
 * whole       content and rss are as before, and few walks were needed, or none were shared
 * holes       three of four pages are gone; few walks were needed all the same
 * tables      the pages are in two tables
 * marks       soft-dirty, and the accessed and dirty bits, each page has its own
 * held        one page among many has an extra reference: it stays, and all others move
 * pinned      a device uses one page among many, and sees what is written
 * shared      a child has some pages of many: both processes keep what they had
 * copied      a child inherits migration entries, or waits: both have all content
 * locked      a part of the range is locked: it stays so
 * swapped     pages that are in the swap cache, too
 * lazyfree    freed pages among others can still be dropped, and are kept if they are written
 * remapped    another thread moves the range to and fro meanwhile
 * carried     another thread moves the pages to other memory meanwhile, with UFFDIO_MOVE
 * unmapped    another thread unmaps the range meanwhile, a part at a time
 * refused     there is no memory for some of the pages: those stay
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
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
#define WINDOW		"/sys/module/unmap/parameters/window"
#define LEN		RANGE
#define PAGES		((long)(LEN / PAGE))
#define SEED		37
#define ROUNDS		12
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
/* A walk has at most 32 pages; after a failure, up to 31 pages go alone. */
#define MOST_WALKS	(PAGES / 32 + 2)
#define ALONE		32

FIXTURE(together) {
	char *mem;
	int device;
	long long batches, pages, back, pages_back;
	__u64 before[LEN / PAGE];
};

FIXTURE_VARIANT(together) {
	unsigned long order;
	bool on;
};

FIXTURE_VARIANT_ADD(together, up_on) { .order = UNMAP_DRIVER_MOVE, .on = true };
FIXTURE_VARIANT_ADD(together, up_off) { .order = UNMAP_DRIVER_MOVE, .on = false };
FIXTURE_VARIANT_ADD(together, down_on) { .order = UNMAP_DRIVER_MOVE_DOWN, .on = true };
FIXTURE_VARIANT_ADD(together, apart_on) { .order = UNMAP_DRIVER_MOVE_APART, .on = true };

/* Move the pages of a range.  Returns how many have moved. */
static long move_range(int device, unsigned long order, const char *mem, size_t len)
{
	struct unmap_driver_range range = { .addr = (uintptr_t)mem, .pages = len / PAGE };

	return ioctl(device, order, &range);
}

FIXTURE_SETUP(together)
{
	const char *missing = begin(FOLIO_KIB(4), variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->device = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->device);
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
	fill(self->mem, LEN, SEED);
	/* What went alone after earlier failures. */
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(PAGES, move_range(self->device, UNMAP_DRIVER_MOVE, self->mem, LEN));
	self->batches = unmap_stat("relocate_batches");
	self->pages = unmap_stat("relocate_batch_pages");
	self->back = unmap_stat("back_batches");
	self->pages_back = unmap_stat("back_batch_pages");
}

FIXTURE_TEARDOWN(together)
{
	if (self->mem)
		munmap(self->mem, LEN);
	close(self->device);
	end();
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

/* Pages of which one of @bits is not as it was. */
static long count_changed(const __u64 *before, const char *mem, __u64 bits)
{
	__u64 after[LEN / PAGE];
	long changed = 0;

	pagemap_range(mem, after, PAGES);
	for (long i = 0; i < PAGES; i++)
		changed += !!((before[i] ^ after[i]) & bits);
	return changed;
}

/* Move everything; true if each page has moved, and has its content. */
static bool move_all(int device, unsigned long order, const char *mem, unsigned char seed)
{
	static __u64 before[LEN / PAGE];

	pagemap_range(mem, before, PAGES);
	CHECK_EQ(PAGES, move_range(device, order, mem, LEN));
	CHECK_EQ(PAGES, count_moved(before, mem));
	CHECK_EQ(0, count_wrong(mem, LEN, seed));
	return true;
}

/* Everything but @stay pages. */
static bool move_but(int device, unsigned long order, const char *mem, long stay)
{
	static __u64 before[LEN / PAGE];

	pagemap_range(mem, before, PAGES);
	CHECK_EQ(PAGES - stay, move_range(device, order, mem, LEN));
	CHECK_EQ(PAGES - stay, count_moved(before, mem));
	CHECK_EQ(0, count_wrong(mem, LEN, SEED));
	return true;
}

static bool go_together(bool on)
{
	return on && switch_has(UNMAP_RELOCATE);
}

TEST_LONG(together, whole)
{
	bool together = go_together(variant->on);

	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
	EXPECT_EQ((long)(LEN / KIB), smaps_kib(self->mem, LEN, "Rss"));
	if (together) {
		EXPECT_LE(PAGES - ALONE, unmap_stat("relocate_batch_pages") - self->pages);
		EXPECT_GE(MOST_WALKS, unmap_stat("relocate_batches") - self->batches);
		EXPECT_LE(PAGES - ALONE, unmap_stat("back_batch_pages") - self->pages_back);
		EXPECT_GE(MOST_WALKS, unmap_stat("back_batches") - self->back);
	} else {
		EXPECT_EQ(self->batches, unmap_stat("relocate_batches"));
		EXPECT_EQ(self->pages, unmap_stat("relocate_batch_pages"));
		EXPECT_EQ(self->back, unmap_stat("back_batches"));
		EXPECT_EQ(self->pages_back, unmap_stat("back_batch_pages"));
	}
	for (int i = 0; i < 4; i++)
		ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
	fill(self->mem, LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
}

TEST_LONG(together, holes)
{
	const long left = PAGES / 4;

	for (long i = 0; i < PAGES; i += 4)
		ASSERT_EQ(0, madvise(self->mem + i * PAGE, 3 * PAGE, MADV_DONTNEED));
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_EQ(left, move_range(self->device, variant->order, self->mem, LEN));
	EXPECT_EQ(left, count_moved(self->before, self->mem));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_PRESENT));
	for (long i = 3; i < PAGES; i += 4)
		EXPECT_TRUE(page_is(self->mem + i * PAGE, fill_byte(i, SEED)));
	if (!go_together(variant->on))
		return;
	EXPECT_LE(left - 1, unmap_stat("relocate_batch_pages") - self->pages);
	EXPECT_GE(left / 32 + 2, unmap_stat("relocate_batches") - self->batches);
	EXPECT_LE(left - 1, unmap_stat("back_batch_pages") - self->pages_back);
	EXPECT_GE(left / 32 + 2, unmap_stat("back_batches") - self->back);
}

TEST_LONG(together, tables)
{
	char *mem = map_aligned(2 * LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	ASSERT_NE(MAP_FAILED, mem);
	fill(mem, 2 * LEN, SEED);
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(PAGES, move_range(self->device, variant->order, mem + LEN / 2, LEN));
		ASSERT_EQ(2 * PAGES, move_range(self->device, variant->order, mem, 2 * LEN));
		ASSERT_EQ(0, count_wrong(mem, 2 * LEN, SEED));
	}
	if (go_together(variant->on))
		EXPECT_LE(6 * PAGES, unmap_stat("relocate_batch_pages") - self->pages);
	fill(mem, 2 * LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(mem, 2 * LEN, SEED + 1));
	munmap(mem, 2 * LEN);
}

TEST_LONG(together, marks)
{
	bool soft_dirty = soft_dirty_works();	/* it clears them, too */
	long used = 0;

	if (soft_dirty)
		for (long i = 1; i < PAGES; i += 3)
			WRITE_ONCE(self->mem[i * PAGE], self->mem[i * PAGE]);
	ASSERT_TRUE(write_text("/proc/self/clear_refs", "1"));
	/* It does not flush: the TLB would hide accesses. */
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_NONE));
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ | PROT_WRITE));
	for (long i = 0; i < PAGES; i += 5, used++)
		page_is(self->mem + i * PAGE, 0);
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_EQ(PAGES, move_range(self->device, variant->order, self->mem, LEN));
	EXPECT_EQ(used * (long)(PAGE / KIB), smaps_kib(self->mem, LEN, "Referenced"));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_PRESENT));
	if (soft_dirty)
		EXPECT_EQ(0, count_changed(self->before, self->mem, PM_SOFT_DIRTY));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	/* Every page was written: none may be dropped for clean. */
	madvise(self->mem, LEN, MADV_PAGEOUT);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
}

TEST_LONG(together, held)
{
	struct pin pin;

	ASSERT_TRUE(pin_open(&pin));
	ASSERT_TRUE(pin_page(&pin, self->mem + 37 * PAGE));
	ASSERT_TRUE(move_but(self->device, variant->order, self->mem, 1));
	EXPECT_EQ((long)(LEN / KIB), smaps_kib(self->mem, LEN, "Rss"));
	/* All first ones, then all that come next. */
	for (long i = 64; i < 128; i += 4)
		ASSERT_TRUE(pin_page(&pin, self->mem + i * PAGE));
	ASSERT_TRUE(move_but(self->device, variant->order, self->mem, 17));
	unpin(&pin);
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
}

TEST_LONG(together, pinned)
{
	struct pin_longterm_test range = {
		.addr = (uintptr_t)self->mem + 300 * PAGE, .size = PAGE,
		.flags = PIN_LONGTERM_TEST_FLAG_USE_WRITE,
	};
	char *seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 addr = (uintptr_t)seen;
	int fd = open(GUP_TEST, O_RDWR);

	if (fd < 0)
		SKIP(return, "needs CONFIG_GUP_TEST");
	ASSERT_EQ(0, ioctl(fd, PIN_LONGTERM_TEST_START, &range));
	ASSERT_TRUE(move_but(self->device, variant->order, self->mem, 1));
	fill(self->mem, LEN, SEED + 1);
	ASSERT_EQ(0, ioctl(fd, PIN_LONGTERM_TEST_READ, &addr));
	EXPECT_TRUE(page_is(seen, fill_byte(300, SEED + 1)));
	close(fd);
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED + 1));
}

/* Of each 24 pages a child gets eight. */
static bool child_has(long i)
{
	return i % 24 >= 16;
}

static bool child_keeps(const char *mem, int go)
{
	char byte;

	CHECK(read(go, &byte, 1) == 1);
	for (long i = 0; i < PAGES; i++)
		if (child_has(i))
			CHECK(page_is(mem + i * PAGE, fill_byte(i, SEED)));
	return true;
}

TEST_LONG(together, shared)
{
	int go[2], status = -1;
	pid_t pid;

	for (long i = 0; i < PAGES; i++)
		if (!child_has(i))
			ASSERT_EQ(0, madvise(self->mem + i * PAGE, PAGE, MADV_DONTFORK));
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(child_keeps(self->mem, go[0]) ? 0 : 1);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DOFORK));
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
	fill(self->mem, LEN, SEED + 1);
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED + 1));
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
}

/* What moves the range all the time, until told to stop. */
struct mover {
	int device;
	unsigned long order;
	char *mem;
	bool stop;
	long moved;
};

static void *keep_moving(void *arg)
{
	struct mover *mover = arg;

	use_cpu(1);
	while (!READ_ONCE(mover->stop)) {
		long moved = move_range(mover->device, mover->order, READ_ONCE(mover->mem), LEN);

		if (moved > 0)
			WRITE_ONCE(mover->moved, mover->moved + moved);
		cpu_relax();
	}
	return NULL;
}

static bool mover_start(struct mover *mover, pthread_t *thread, int device, unsigned long order,
			char *mem)
{
	*mover = (struct mover) { .device = device, .order = order, .mem = mem };
	CHECK(write_number(WINDOW, 50));
	CHECK(!pthread_create(thread, NULL, keep_moving, mover));
	return true;
}

/* Wait until as much as the range has moved again. */
static bool mover_goes_on(struct mover *mover)
{
	long moved = READ_ONCE(mover->moved);

	AWAIT(READ_ONCE(mover->moved) >= moved + PAGES / 4);
	return true;
}

static void mover_stop(struct mover *mover, pthread_t thread)
{
	WRITE_ONCE(mover->stop, true);
	pthread_join(thread, NULL);
	write_number(WINDOW, 0);
}

static bool copy_often(struct mover *mover, char *mem)
{
	for (int round = 0; round < ROUNDS; round++) {
		unsigned char seed = SEED + round;
		int status = -1;
		pid_t pid = fork();

		if (!pid) {
			bool right = !count_wrong(mem, LEN, seed);

			fill(mem, LEN / 2, seed + 100);
			_exit(right && !count_wrong(mem, LEN / 2, seed + 100) ? 0 : 1);
		}
		CHECK(pid > 0);
		fill(mem, LEN, seed + 1);
		CHECK_EQ(0, count_wrong(mem, LEN, seed + 1));
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_EQ(0, status);
		CHECK(mover_goes_on(mover));
		CHECK_EQ(0, count_wrong(mem, LEN, seed + 1));
	}
	return true;
}

TEST_LONG(together, copied)
{
	struct mover mover;
	pthread_t thread;
	bool right;

	ASSERT_TRUE(mover_start(&mover, &thread, self->device, variant->order, self->mem));
	right = copy_often(&mover, self->mem);
	mover_stop(&mover, thread);
	EXPECT_TRUE(right);
}

TEST_LONG(together, locked)
{
	long long locked = status_pages("VmLck");

	ASSERT_EQ(0, mlock(self->mem + 100 * PAGE, 41 * PAGE));
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
	EXPECT_EQ(locked + 41, status_pages("VmLck"));
	reclaim_all(LEN);
	madvise(self->mem, LEN, MADV_PAGEOUT);
	EXPECT_EQ(41, count_pages(self->mem + 100 * PAGE, 41 * PAGE, PM_PRESENT));
	ASSERT_EQ(0, munlock(self->mem, LEN));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
}

TEST_LONG(together, swapped)
{
	if (!swap_is_on())
		SKIP(return, "needs swap");
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	fill(self->mem, LEN, SEED + 1);
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED + 1));
}

TEST_LONG(together, lazyfree)
{
	for (long i = 0; i < PAGES; i += 10)
		ASSERT_EQ(0, madvise(self->mem + i * PAGE, 5 * PAGE < LEN - i * PAGE ?
				     5 * PAGE : PAGE, MADV_FREE));
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
	for (long i = 0; i < PAGES; i += 10)
		self->mem[i * PAGE] = fill_byte(i, SEED);
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	for (long i = 0; i < PAGES - 10; i++)
		EXPECT_TRUE(page_is(self->mem + i * PAGE,
				    i % 10 >= 1 && i % 10 < 5 ? 0 : fill_byte(i, SEED)));
}

static bool remap_often(struct mover *mover, char **mem, char *other)
{
	for (int round = 0; round < ROUNDS; round++) {
		char *from = *mem;

		if (mremap(from, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, other) != other)
			return false;
		*mem = other;
		WRITE_ONCE(mover->mem, other);
		other = mmap(from, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(other == from);
		CHECK_EQ(0, count_wrong(*mem, LEN, SEED + round));
		fill(*mem, LEN, SEED + round + 1);
		CHECK(mover_goes_on(mover));
		CHECK_EQ(0, count_wrong(*mem, LEN, SEED + round + 1));
	}
	return true;
}

TEST_LONG(together, remapped)
{
	char *other = map_aligned(LEN + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct mover mover;
	pthread_t thread;
	bool right;

	ASSERT_NE(MAP_FAILED, other);
	/* Not by whole tables: entry by entry, to another place in a table, and over its end. */
	other += 100 * PAGE;
	ASSERT_TRUE(mover_start(&mover, &thread, self->device, variant->order, self->mem));
	right = remap_often(&mover, &self->mem, other);
	mover_stop(&mover, thread);
	EXPECT_TRUE(right);
}

static bool carry(int uffd, const char *from, const char *to)
{
	for (size_t at = 0; at < LEN; at += PAGE) {
		struct uffdio_move move = {
			.dst = (uintptr_t)to + at, .src = (uintptr_t)from + at, .len = PAGE,
		};

		while (ioctl(uffd, UFFDIO_MOVE, &move))
			CHECK(errno == EAGAIN || errno == EBUSY);
	}
	return true;
}

static bool carry_often(struct mover *mover, char *const place[2], const int uffd[2])
{
	for (int round = 0; round < ROUNDS / 4; round++) {
		char *from = place[round % 2], *to = place[!(round % 2)];

		CHECK(mover_goes_on(mover));
		CHECK(carry(uffd[!(round % 2)], from, to));
		WRITE_ONCE(mover->mem, to);
		CHECK_EQ(0, count_wrong(to, LEN, SEED + round));
		fill(to, LEN, SEED + round + 1);
		CHECK(mover_goes_on(mover));
		CHECK_EQ(0, count_wrong(to, LEN, SEED + round + 1));
	}
	return true;
}

TEST_LONG(together, carried)
{
	char *place[2] = { self->mem };
	struct mover mover;
	pthread_t thread;
	int uffd[2];
	bool right;

	place[1] = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, place[1]);
	for (int i = 0; i < 2; i++)
		uffd[i] = uffd_watch(place[i], LEN, UFFD_FEATURE_MOVE,
				     UFFDIO_REGISTER_MODE_MISSING);
	if (uffd[1] < 0)
		SKIP(return, "needs UFFDIO_MOVE");
	ASSERT_TRUE(mover_start(&mover, &thread, self->device, variant->order, self->mem));
	right = carry_often(&mover, place, uffd);
	mover_stop(&mover, thread);
	EXPECT_TRUE(right);
	close(uffd[0]);
	close(uffd[1]);
}

static bool unmap_often(struct mover *mover, char *mem)
{
	for (int round = 0; round < ROUNDS; round++) {
		unsigned char seed = SEED + round;

		fill(mem, LEN, seed);
		for (long i = 0; i < PAGES; i += 32) {
			CHECK(!madvise(mem + (i + 7) * PAGE, 5 * PAGE, MADV_DONTNEED));
			CHECK(mmap(mem + (i + 20) * PAGE, 5 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
		}
		for (long i = 0; i < PAGES; i++) {
			bool gone = (i % 32 >= 7 && i % 32 < 12) || (i % 32 >= 20 && i % 32 < 25);

			CHECK(page_is(mem + i * PAGE, gone ? 0 : fill_byte(i, seed)));
		}
		CHECK(mover_goes_on(mover));
	}
	return true;
}

TEST_LONG(together, unmapped)
{
	struct mover mover;
	pthread_t thread;
	bool right;

	ASSERT_TRUE(mover_start(&mover, &thread, self->device, variant->order, self->mem));
	right = unmap_often(&mover, self->mem);
	mover_stop(&mover, thread);
	EXPECT_TRUE(right);
	fill(self->mem, LEN, SEED);
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
}

/* Some of the allocations fail: what is ahead then comes back. */
static bool move_some(int device, unsigned long order, const char *mem)
{
	static __u64 before[LEN / PAGE];
	long moved, failed, some = 0;

	for (int round = 0; round < ROUNDS; round++) {
		pagemap_range(mem, before, PAGES);
		CHECK(faults_on("fail_page_alloc", "alloc_migration_target", 3));
		moved = move_range(device, order, mem, LEN);
		failed = faults_off("fail_page_alloc");
		CHECK_EQ(0, count_wrong(mem, LEN, SEED));
		CHECK_EQ(moved, count_moved(before, mem));
		some += failed > 0 && moved > 0 && moved < PAGES;
	}
	CHECK(some > 0);
	return true;
}

TEST_LONG(together, refused)
{
	EXPECT_TRUE(move_some(self->device, variant->order, self->mem));
	EXPECT_EQ((long)(LEN / KIB), smaps_kib(self->mem, LEN, "Rss"));
	ASSERT_TRUE(move_all(self->device, variant->order, self->mem, SEED));
}

TEST_HARNESS_MAIN
