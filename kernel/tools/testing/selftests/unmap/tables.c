// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty page tables are given back (law 7), and code that reads page tables without their
 * lock copes with that (law 8).  VmPTE tells how many tables a process has.
 *
 * What empties the tables; with the switch off, only the contents are checked:
 *
 * whole           MADV_DONTNEED of all
 * pieces          64 KiB at a time
 * singly          a table at a time
 * pages           a page at a time, in random order
 * unaligned       all but a few pages at both ends, which keep their tables; then those
 * two_vmas        a table that two VMAs share goes with the last page of both
 * munmapped       munmap() in pieces; each table still has a page of another VMA's range
 * lazyfree        MADV_FREE and reclaim
 * swapped         swap entries keep a table, with their contents, until MADV_DONTNEED
 * swap_freed      the same, until MADV_FREE frees the last of them
 * hole            a hole punched in shmem
 * copies_stay     the same below private mappings: copied pages keep their tables
 * truncated       shmem truncated by another process
 * file            a file's pages reclaimed
 * advised         the same by another process, with process_madvise()
 * dontunmap       MREMAP_DONTUNMAP
 * uffd_moved      UFFDIO_MOVE moves the pages away
 * markers         uffd-wp markers of absent pages keep a table
 * guards          guard regions keep a table through MADV_DONTNEED (since Linux 6.18)
 * guards_punched  ... of shmem through a hole and truncation
 * guards_unmapped ... through munmap() of the rest of a table, with which its guards go
 * deferred        tables are freed after the call that gave them back (law 7); those of
 *                 executable memory are not left to the mmu_gather
 * vectors         process_madvise() that discards many tables makes one TLB flush, or few;
 *                 but one for each range of executable memory
 *
 * lock_dropped    a table is filled while MADV_DONTNEED has dropped its lock halfway (law 7)
 *
 * The policy "pressure":
 *
 * kept            empty tables stay, and are refilled, until memory is reclaimed
 * single          reclaim frees a single table, too
 * refilled        reclaim keeps a table that is in use again, with its contents
 * dropped         drop_caches frees them
 * flushed         freeing them sends a TLB flush to a CPU that runs the process (law 7)
 * ended           no record of a kept table outlives its process
 *
 * Races of two owners, who know what each of their pages holds, with other threads: see
 * tables_race.h.  They last until some hundred tables were freed, and for TABLES_SECONDS, if
 * that is set.  They start from TABLES_SEED, or from a seed that a failure prints.  With the
 * switch off they run only if TABLES_SECONDS is set.  In kernels built for tests unmap.window
 * makes the races wider:
 *
 * faults          faults while single pages go (bug 17)
 * forks           fork() while pages of the same table are reclaimed, or a hole is punched
 * copied          the same in private memory over a file
 * moves           mremap() to a table whose only other page goes, and within a table
 * collapses       MADV_COLLAPSE while pages come and go (bug 18)
 * shifts          mremap() of whole tables of shmem that is collapsed (bug 22)
 * protects        mprotect() while memory is reclaimed
 * pins            GUP and GUP-fast
 * uffd_fills      UFFDIO_COPY and UFFDIO_MOVE to a table that is being emptied (bug 24)
 * uffd_protects   write-protected shmem and holes
 * reclaims        shmem reclaimed while it is in use
 * looks           smaps, pagemap and mincore() (bug 25)
 * killed          a process that is killed at a random time leaves no page table behind
 *
 * stress          eight processes with random operations, while the policy changes (with
 *                 TABLES_SWITCH set, the switch, too)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "parts/tables/tables_count.h"
#include "parts/tables/tables_race.h"

#define CHUNK		(64 * KIB)
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
#define FREED		200	/* tables that each race must free */
#define FREED_KEPT	2	/* under "pressure": only those that were left alone for a while */

/* NULL, or what the machine lacks. */
static const char *set_up(unsigned long kib, enum how how)
{
	const char *missing = begin(kib, how != OFF);

	if (missing || how == OFF)
		return missing;
	if (!switch_has(UNMAP_TABLES) ||
	    !write_text(POLICY, how == EAGER ? "eager" : "pressure")) {
		end();
		return "this kernel gives no page tables back, or lacks this policy";
	}
	return NULL;
}

/* What empties tables. */

FIXTURE(tables) {
	struct tables t;
};

FIXTURE_VARIANT(tables) {
	enum how how;
	unsigned long kib;
};

FIXTURE_VARIANT_ADD(tables, eager_4K) { .how = EAGER, .kib = 4 };
FIXTURE_VARIANT_ADD(tables, eager_64K) { .how = EAGER, .kib = 64 };
FIXTURE_VARIANT_ADD(tables, pressure_4K) { .how = PRESSURE, .kib = 4 };
FIXTURE_VARIANT_ADD(tables, off_4K) { .how = OFF, .kib = 4 };

FIXTURE_SETUP(tables)
{
	const char *missing = set_up(variant->kib, variant->how);

	if (missing)
		SKIP(return, "%s", missing);
	self->t.how = variant->how;
}

FIXTURE_TEARDOWN(tables)
{
	end();
}

TEST_LONG(tables, whole)
{
	ASSERT_TRUE(map_anon(&self->t));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(tables, pieces)
{
	ASSERT_TRUE(map_anon(&self->t));
	for (size_t at = 0; at < LEN; at += CHUNK)
		ASSERT_EQ(0, madvise(self->t.mem + at, CHUNK, MADV_DONTNEED));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(tables, singly)
{
	ASSERT_TRUE(map_anon(&self->t));
	for (size_t at = 0; at < LEN; at += PMD)
		ASSERT_EQ(0, madvise(self->t.mem + at, PMD, MADV_DONTNEED));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

static void shuffle(short *order, long nr, unsigned int seed)
{
	for (long i = 0; i < nr; i++)
		order[i] = i;
	for (long i = nr - 1; i > 0; i--) {
		long other = rand_r(&seed) % (i + 1);
		short was = order[i];

		order[i] = order[other];
		order[other] = was;
	}
}

TEST_LONG(tables, pages)
{
	unsigned int seed = time(NULL);
	short order[PAGES];

	TH_LOG("seed %u", seed);
	shuffle(order, PAGES, seed);
	ASSERT_TRUE(map_anon(&self->t));
	for (long i = 0; i < PAGES; i++) {
		if (i == PAGES / 2) {
			long later = order[PAGES - 1];

			ASSERT_TRUE(page_is(self->t.mem + later * PAGE, fill_byte(later, SEED)));
		}
		ASSERT_EQ(0, madvise(self->t.mem + order[i] * PAGE, PAGE, MADV_DONTNEED));
	}
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(tables, unaligned)
{
	const size_t edge = 3 * PAGE;

	ASSERT_TRUE(map_anon(&self->t));
	ASSERT_EQ(0, madvise(self->t.mem + edge, LEN - 2 * edge, MADV_DONTNEED));
	EXPECT_EQ(0, count_wrong(self->t.mem, edge, SEED));
	EXPECT_TRUE(page_is(self->t.mem + LEN - PAGE, fill_byte(PAGES - 1, SEED)));
	if (self->t.how == EAGER)
		EXPECT_TRUE(given_back(&self->t, 2));
	ASSERT_EQ(0, madvise(self->t.mem, edge, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(self->t.mem + LEN - edge, edge, MADV_DONTNEED));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

static bool take_halves(struct tables *t, int half, int *fd)
{
	for (size_t at = half * PMD / 2; at < LEN; at += PMD) {
		if (!fd)
			CHECK(!madvise(t->mem + at, PMD / 2, MADV_DONTNEED));
		else
			CHECK(mmap(t->mem + at, PMD / 2, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_FIXED, *fd, at) == t->mem + at);
	}
	return true;
}

TEST_LONG(tables, two_vmas)
{
	int fd = shmem_file(LEN);

	ASSERT_LE(0, fd);
	ASSERT_TRUE(map_anon(&self->t));
	ASSERT_TRUE(take_halves(&self->t, 1, &fd));
	fill(self->t.mem, LEN, SEED);
	note_full(&self->t);
	ASSERT_TRUE(take_halves(&self->t, 0, NULL));
	EXPECT_TRUE(all_there(&self->t));
	for (size_t at = PMD / 2; at < LEN; at += PMD)
		for (size_t i = 0; i < PMD / 2 / PAGE; i++)
			ASSERT_TRUE(page_is(self->t.mem + at + i * PAGE,
					    fill_byte(at / PAGE + i, SEED)));
	ASSERT_TRUE(take_halves(&self->t, 1, NULL));
	EXPECT_TRUE(given_back(&self->t, 0));
	close(fd);
}

TEST_LONG(tables, munmapped)
{
	ASSERT_TRUE(map_anon(&self->t));
	/* The last page of each table is not unmapped: its VMA stays, and it has no entry. */
	for (size_t at = PMD - PAGE; at < LEN; at += PMD)
		ASSERT_EQ(0, madvise(self->t.mem + at, PAGE, MADV_DONTNEED));
	note_full(&self->t);
	for (size_t at = 0; at < LEN; at += CHUNK) {
		size_t len = (at + CHUNK) % PMD ? CHUNK : CHUNK - PAGE;

		ASSERT_EQ(0, munmap(self->t.mem + at, len));
	}
	EXPECT_TRUE(given_back(&self->t, 0));
	for (size_t at = PMD - PAGE; at < LEN; at += PMD)
		EXPECT_TRUE(page_is(self->t.mem + at, 0));
}

TEST_LONG(tables, lazyfree)
{
	ASSERT_TRUE(map_anon(&self->t));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_FREE));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_PAGEOUT));
	ASSERT_EQ(0, count_pages(self->t.mem, LEN, PM_PRESENT | PM_SWAP));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(tables, swapped)
{
	if (!swap_has_room(2 * LEN))
		SKIP(return, "needs swap");
	ASSERT_TRUE(map_anon(&self->t));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_PAGEOUT));
	ASSERT_LT(PAGES / 2, count_pages(self->t.mem, LEN, PM_SWAP));
	EXPECT_TRUE(all_there(&self->t));
	EXPECT_EQ(0, count_wrong(self->t.mem, LEN, SEED));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_PAGEOUT));
	ASSERT_LT(PAGES / 2, count_pages(self->t.mem, LEN, PM_SWAP));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

/* Reclaim may need a second pass for pages that were just used. */
static void swap_all_out(char *mem)
{
	for (int i = 0; i < 8 && count_pages(mem, LEN, PM_PRESENT); i++) {
		madvise(mem, LEN, MADV_PAGEOUT);
		reclaim_all(2 * LEN);
	}
}

TEST_LONG(tables, swap_freed)
{
	if (!swap_has_room(2 * LEN))
		SKIP(return, "needs swap");
	ASSERT_TRUE(map_anon(&self->t));
	swap_all_out(self->t.mem);
	ASSERT_EQ(PAGES, count_pages(self->t.mem, LEN, PM_SWAP));
	for (size_t at = 0; at < LEN; at += PMD)
		ASSERT_EQ(0, madvise(self->t.mem + at, PMD - PAGE, MADV_FREE));
	EXPECT_TRUE(all_there(&self->t));
	for (size_t at = PMD - PAGE; at < LEN; at += PMD)
		EXPECT_TRUE(page_is(self->t.mem + at, fill_byte(at / PAGE, SEED)));
	swap_all_out(self->t.mem);
	ASSERT_EQ(NR_TABLES, count_pages(self->t.mem, LEN, PM_SWAP));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_FREE));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(tables, hole)
{
	int fd;

	ASSERT_TRUE(map_shmem(&self->t, &fd));
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
	close(fd);
}

/* A hole frees the file's pages, and leaves the one copied page in each table. */
TEST_LONG(tables, copies_stay)
{
	char *mem;
	int fd;

	fd = shmem_file(LEN);
	ASSERT_LE(0, fd);
	mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	ASSERT_NE(MAP_FAILED, mem);
	note_empty(&self->t, mem);
	ASSERT_EQ(0, count_not_zero(mem, LEN));
	for (size_t at = 77 * PAGE; at < LEN; at += PMD)
		mem[at] = 1;
	note_full(&self->t);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	EXPECT_TRUE(few_noticed(&self->t));
	EXPECT_EQ(NR_TABLES, count_not_zero(mem, LEN));
	close(fd);
}

/* The child maps the same memory with tables of its own. */
static bool child_lost_tables(struct tables *t, int from, int to)
{
	char token = 1;

	note_empty(t, t->mem);
	CHECK_EQ(0, count_wrong(t->mem, LEN, SEED));
	note_full(t);
	CHECK_EQ(1, write(to, &token, 1));
	CHECK_EQ(1, read(from, &token, 1));
	return given_back(t, 0);
}

TEST_LONG(tables, truncated)
{
	int to[2], from[2], fd, status;
	char token;
	pid_t child;

	ASSERT_TRUE(map_shmem(&self->t, &fd));
	ASSERT_EQ(0, pipe(to));
	ASSERT_EQ(0, pipe(from));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		token = child_lost_tables(&self->t, to[0], from[1]);
		fflush(stdout);
		_exit(!token);
	}
	close(from[1]);
	ASSERT_EQ(1, read(from[0], &token, 1));
	note_full(&self->t);
	ASSERT_EQ(0, ftruncate(fd, 0));
	/* Check our tables first; under "pressure" reclaim will free those of both processes. */
	EXPECT_TRUE(self->t.how == PRESSURE || given_back(&self->t, 0));
	ASSERT_EQ(1, write(to[1], &token, 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	if (self->t.how != OFF)
		EXPECT_LE(tables_now(), self->t.empty + SLACK);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	EXPECT_TRUE(usable(&self->t));
}

static bool map_file(struct tables *t, int *fd, unsigned long kib)
{
	char *mem;

	*fd = xfs_file(LEN, SEED, kib);
	CHECK(*fd >= 0);
	mem = map_aligned(LEN, PROT_READ, MAP_SHARED, *fd);
	CHECK(mem != MAP_FAILED);
	note_empty(t, mem);
	CHECK_EQ(0, count_wrong(mem, LEN, SEED));
	note_full(t);
	CHECK(t->full >= t->empty + NR_TABLES);
	return true;
}

TEST_LONG(tables, file)
{
	int fd = xfs_file(LEN, SEED, variant->kib);

	if (fd < 0)
		SKIP(return, "needs XFS at /mnt");
	close(fd);
	ASSERT_TRUE(map_file(&self->t, &fd, variant->kib));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_PAGEOUT));
	ASSERT_EQ(0, count_pages(self->t.mem, LEN, PM_PRESENT));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_EQ(0, count_wrong(self->t.mem, LEN, SEED));
	close(fd);
}

/* A child pages out its parent's memory. */
static int page_out_parents(char *mem)
{
	struct iovec iov = { .iov_base = mem, .iov_len = LEN };
	int pidfd = syscall(SYS_pidfd_open, getppid(), 0);

	return syscall(SYS_process_madvise, pidfd, &iov, 1, MADV_PAGEOUT, 0) != (long)LEN;
}

TEST_LONG(tables, advised)
{
	int fd = xfs_file(LEN, SEED, variant->kib), status;
	pid_t child;

	if (fd < 0)
		SKIP(return, "needs XFS at /mnt");
	close(fd);
	ASSERT_TRUE(map_file(&self->t, &fd, variant->kib));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(page_out_parents(self->t.mem));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, count_pages(self->t.mem, LEN, PM_PRESENT));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_EQ(0, count_wrong(self->t.mem, LEN, SEED));
	close(fd);
}

TEST_LONG(tables, dontunmap)
{
	char *to, *arena;

	ASSERT_TRUE(map_anon(&self->t));
	/* Alignment differs, so mremap() moves page by page, not whole tables. */
	arena = map_aligned(LEN + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	to = arena + PAGE;
	note_full(&self->t);
	ASSERT_EQ(to, mremap(self->t.mem, LEN, LEN,
			     MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to));
	EXPECT_EQ(0, count_wrong(to, LEN, SEED));
	ASSERT_EQ(0, munmap(arena, LEN + PMD));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(tables, uffd_moved)
{
	char *to = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int uffd = uffd_watch(to, LEN, UFFD_FEATURE_MOVE, UFFDIO_REGISTER_MODE_MISSING);
	struct uffdio_move move = { .dst = (uintptr_t)to, .len = LEN };

	if (uffd < 0)
		SKIP(return, "needs UFFDIO_MOVE");
	ASSERT_TRUE(map_anon(&self->t));
	move.src = (uintptr_t)self->t.mem;
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_MOVE, &move));
	EXPECT_EQ(0, count_wrong(to, LEN, SEED));
	close(uffd);
	ASSERT_EQ(0, munmap(to, LEN));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(tables, markers)
{
	int fd, uffd;

	ASSERT_TRUE(map_shmem(&self->t, &fd));
	uffd = uffd_open(self->t.mem, LEN);
	if (uffd < 0)
		SKIP(return, "needs userfaultfd write-protection for shmem");
	/* Protect one page of each table; MADV_DONTNEED leaves its marker. */
	for (size_t at = 77 * PAGE; at < LEN; at += PMD)
		ASSERT_TRUE(uffd_protect(uffd, self->t.mem + at, PAGE, true));
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	EXPECT_TRUE(few_noticed(&self->t));
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
	EXPECT_TRUE(all_there(&self->t));
	for (size_t at = 77 * PAGE; at < LEN; at += PMD) {
		EXPECT_EQ(PM_UFFD_WP, pagemap(self->t.mem + at) & PM_UFFD_WP);
		EXPECT_FALSE(try_write(self->t.mem + at, 1));
		EXPECT_TRUE(try_write(self->t.mem + at + PAGE, fill_byte(at / PAGE + 1, SEED)));
	}
	EXPECT_EQ(0, count_wrong(self->t.mem, LEN, SEED));
	close(uffd);
	close(fd);
}

/* Make guards of the page at @at of each table, or remove them. */
static bool guard_each(char *mem, size_t at, bool on)
{
	for (; at < LEN; at += PMD)
		if (!guard(mem + at, PAGE, on))
			return false;
	return true;
}

static long count_guards(char *mem, size_t at)
{
	long found = 0;

	for (; at < LEN; at += PMD)
		found += is_guarded(mem + at);
	return found;
}

/*
 * A guard at @at is all that each table has.  When it is removed, the empty table stays, as in
 * stock, until another call looks at it.
 */
static bool guards_keep(struct tables *t, size_t at)
{
	CHECK(few_noticed(t));
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
	CHECK(all_there(t));
	CHECK_EQ(NR_TABLES, count_guards(t->mem, at));
	CHECK(guard_each(t->mem, at, false));
	CHECK(all_there(t));
	CHECK(!madvise(t->mem, LEN, MADV_DONTNEED));
	CHECK(given_back(t, 0));
	return usable(t);
}

#define GUARD_AT	(77 * PAGE)

TEST_LONG(tables, guards)
{
	ASSERT_TRUE(map_anon(&self->t));
	if (!guard_each(self->t.mem, GUARD_AT, true))
		SKIP(return, "%s", GUARDS_MISSING);
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	EXPECT_TRUE(guards_keep(&self->t, GUARD_AT));
}

TEST_LONG(tables, guards_punched)
{
	int fd;

	ASSERT_TRUE(map_shmem(&self->t, &fd));
	if (!guard_each(self->t.mem, GUARD_AT, true))
		SKIP(return, "%s", GUARDS_MISSING);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	EXPECT_TRUE(few_noticed(&self->t));
	ASSERT_EQ(0, ftruncate(fd, 0));
	ASSERT_EQ(0, ftruncate(fd, LEN));
	EXPECT_TRUE(guards_keep(&self->t, GUARD_AT));
	close(fd);
}

TEST_LONG(tables, guards_unmapped)
{
	char *mem;

	ASSERT_TRUE(map_anon(&self->t));
	mem = self->t.mem;
	if (!guard_each(mem, GUARD_AT, true) || !guard_each(mem, PMD / 2 + GUARD_AT, true))
		SKIP(return, "%s", GUARDS_MISSING);
	ASSERT_TRUE(take_halves(&self->t, 1, NULL));
	for (size_t at = 0; at < LEN; at += PMD)
		ASSERT_EQ(0, munmap(mem + at, PMD / 2));
	EXPECT_TRUE(all_there(&self->t));
	for (size_t at = 0; at < LEN; at += PMD)
		ASSERT_EQ(mem + at, mmap(mem + at, PMD / 2, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_EQ(0, count_guards(mem, GUARD_AT));
	ASSERT_TRUE(take_halves(&self->t, 0, NULL));
	EXPECT_TRUE(guards_keep(&self->t, PMD / 2 + GUARD_AT));
}

/* TLB flushes. */

/* TLB flush requests that a CPU has received; -1 if /proc/interrupts does not tell. */
static long flushes_asked(int cpu)
{
	char text[8192], *at;

	if (!read_text("/proc/interrupts", text, sizeof(text)))
		return -1;
	at = strstr(text, "TLB:");
	if (!at)
		return -1;
	at += 4;
	while (cpu--)
		strtol(at, &at, 10);
	return strtol(at, NULL, 10);
}

static bool can_count_flushes(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) >= 2 && flushes_asked(1) >= 0;
}

static void *spin(void *arg)
{
	bool *stop = arg;

	use_cpu(1);
	while (!READ_ONCE(*stop))
		;
	return NULL;
}

/* The grace period. */

#define MANY		512L		/* tables: more than counters hold back */

FIXTURE(eager) {
	char *mem;
};

FIXTURE_SETUP(eager)
{
	const char *missing = set_up(4, EAGER);

	if (missing)
		SKIP(return, "%s", missing);
	self->mem = map_aligned(MANY * PMD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(eager)
{
	end();
}

/* Page tables of the control group, which has no other process. */
static long tables_charged(void)
{
	return cgroup_stat("pagetables") / (long)PAGE;
}

/* The number of tables that were given back, but not yet freed when madvise() returned. */
static long still_there(char *mem)
{
	long now;

	for (long i = 0; i < MANY; i++)
		WRITE_ONCE(mem[i * PMD], 1);
	madvise(mem, MANY * PMD, MADV_DONTNEED);
	now = tables_charged();
	usleep(300000);
	return now - tables_charged();
}

TEST_LONG(eager, deferred)
{
	if (access("/sys/module/rcutree", F_OK))
		SKIP(return, "grace periods end at once in a kernel for one CPU");
	if (!clock_is_exact())
		SKIP(return, CLOCK_INEXACT);
	/* More than are freed together. */
	EXPECT_LT(MANY / 2, still_there(self->mem));
	ASSERT_EQ(0, mprotect(self->mem, MANY * PMD, PROT_READ | PROT_WRITE | PROT_EXEC));
	EXPECT_LT(MANY / 2, still_there(self->mem));
}

#define RANGES		64L

/* One process_madvise() discards every other 2 MiB.  Returns what the system call returns. */
static long discard_ranges(char *mem)
{
	int pidfd = syscall(SYS_pidfd_open, getpid(), 0);
	struct iovec ranges[RANGES];
	long done;

	for (long i = 0; i < RANGES; i++) {
		ranges[i].iov_base = mem + 2 * i * PMD;
		ranges[i].iov_len = PMD;
	}
	done = syscall(SYS_process_madvise, pidfd, ranges, RANGES, MADV_DONTNEED, 0);
	close(pidfd);
	return done;
}

/* How many flushes that asks another CPU for; @nr: in how many ranges there is a page. */
static long flushes_of_ranges(char *mem, long nr)
{
	long before;

	for (long i = 0; i < nr; i++)
		WRITE_ONCE(mem[2 * i * PMD], 1);
	before = flushes_asked(1);
	return discard_ranges(mem) == RANGES * (long)PMD ? flushes_asked(1) - before : -1;
}

/* Flushes of their own TLBs that processors have made; -1 without CONFIG_DEBUG_TLBFLUSH. */
static long flushes_made(void)
{
	long one = read_named("/proc/vmstat", "nr_tlb_local_flush_one");
	long all = read_named("/proc/vmstat", "nr_tlb_local_flush_all");

	return one < 0 || all < 0 ? -1 : one + all;
}

TEST_LONG(eager, vectors)
{
	long long freed = unmap_stat("tables_freed"), kept;
	long others, flushes, made;
	bool stop = false;
	pthread_t thread;

	if (!can_count_flushes())
		SKIP(return, "needs two CPUs, and a TLB line in /proc/interrupts");
	if (discard_ranges(self->mem) < 0)
		SKIP(return, "this kernel's process_madvise() discards nothing");
	ASSERT_EQ(0, pthread_create(&thread, NULL, spin, &stop));
	usleep(AGE);
	/* Other tasks of the machine ask for flushes, too. */
	others = flushes_of_ranges(self->mem, 0);
	flushes = flushes_of_ranges(self->mem, RANGES);
	/*
	 * Each of these tables is flushed before anything else can take its place.  The other CPU
	 * is not asked each time: while a kernel thread runs there, it needs no flush.
	 */
	ASSERT_EQ(0, mprotect(self->mem, MANY * PMD, PROT_READ | PROT_WRITE | PROT_EXEC));
	kept = unmap_stat("tables_waited");
	made = flushes_made();
	ASSERT_LE(0, flushes_of_ranges(self->mem, RANGES));
	made = made < 0 ? RANGES : flushes_made() - made;
	kept = unmap_stat("tables_waited") - kept;
	WRITE_ONCE(stop, true);
	pthread_join(thread, NULL);
	TH_LOG("%ld flushes, %ld made of executable memory (%lld kept), %ld of nothing", flushes,
	       made, kept, others);
	EXPECT_LE(0, others);
	EXPECT_LT(0, flushes);
	EXPECT_GE(RANGES / 4, flushes - others);
	EXPECT_LE(RANGES, made + kept);
	EXPECT_LE(2 * RANGES, unmap_stat("tables_freed") - freed);
}

/* The lock of a table is dropped. */

#define GIB		(1024 * MIB)
/* An mmu_gather has room for about 9700 pages: it is full in the last of these tables. */
#define BEFORE		(18 * PMD)

/* A page that a thread fills whenever it is discarded. */
struct filler {
	unsigned long *word;
	bool stop;
	long lost;	/* how often its content was */
};

static void *keep_filled(void *arg)
{
	struct filler *f = arg;
	unsigned long n = 0;

	use_cpu(1);
	__atomic_store_n(f->word, n, __ATOMIC_RELAXED);
	while (!READ_ONCE(f->stop)) {
		f->lost += __atomic_exchange_n(f->word, n + 1, __ATOMIC_RELAXED) != n;
		n++;
	}
	return NULL;
}

/*
 * The last table is the only one in its gigabyte, so that it may be given back without another
 * look at its entries.  Each MADV_DONTNEED takes the page away once; a second time would mean
 * that its table was.
 */
TEST_LONG(eager, lock_dropped)
{
	const long rounds = 8;
	char *arena, *last;
	struct filler f = { 0 };
	pthread_t thread;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	arena = map_aligned(GIB + 2 * BEFORE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	ASSERT_NE(MAP_FAILED, arena);
	last = (char *)(((uintptr_t)arena + BEFORE + GIB - 1) & ~(GIB - 1));
	f.word = (unsigned long *)last;
	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_filled, &f));
	for (long i = 0; i < rounds; i++) {
		for (char *page = last - BEFORE; page < last + PMD; page += PAGE)
			if (page != last)
				WRITE_ONCE(*page, 1);
		EXPECT_EQ(0, madvise(last - BEFORE, BEFORE + PMD, MADV_DONTNEED));
	}
	WRITE_ONCE(f.stop, true);
	pthread_join(thread, NULL);
	EXPECT_GE(rounds, f.lost);
	munmap(arena, GIB + 2 * BEFORE);
}

/* The policy "pressure". */

FIXTURE(pressure) {
	struct tables t;
};

FIXTURE_SETUP(pressure)
{
	const char *missing = set_up(4, PRESSURE);

	if (missing)
		SKIP(return, "%s", missing);
	self->t.how = PRESSURE;
	ASSERT_TRUE(map_anon(&self->t));
}

FIXTURE_TEARDOWN(pressure)
{
	end();
}

TEST_LONG(pressure, kept)
{
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	usleep(AGE);
	EXPECT_TRUE(all_there(&self->t));
	fill(self->t.mem, LEN, SEED);
	/* The process may have allocated another table meanwhile. */
	EXPECT_LE(self->t.full, tables_now());
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	EXPECT_TRUE(given_back(&self->t, 0));
	EXPECT_TRUE(usable(&self->t));
}

TEST_LONG(pressure, single)
{
	ASSERT_EQ(0, madvise(self->t.mem, PMD, MADV_DONTNEED));
	EXPECT_EQ(1, unmap_stat("tables_waited") - self->t.kept);
	usleep(AGE);
	reclaim_all(MIB);
	EXPECT_EQ(1, unmap_stat("tables_freed") - self->t.freed);
}

/* Refill a different page of each table: not the one that was emptied last. */
TEST_LONG(pressure, refilled)
{
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	for (long i = 0; i < NR_TABLES; i++) {
		char *page = self->t.mem + i * PMD + (100 + 100 * i) * PAGE;

		memset(page, fill_byte(i, SEED), PAGE);
	}
	usleep(AGE);
	reclaim_file(MIB);
	write_text("/proc/sys/vm/drop_caches", "2");
	EXPECT_TRUE(all_there(&self->t));
	for (long i = 0; i < NR_TABLES; i++) {
		char *page = self->t.mem + i * PMD + (100 + 100 * i) * PAGE;

		EXPECT_TRUE(page_is(page, fill_byte(i, SEED)));
	}
}

TEST_LONG(pressure, dropped)
{
	ASSERT_EQ(0, madvise(self->t.mem, LEN, MADV_DONTNEED));
	EXPECT_TRUE(all_there(&self->t));
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
	EXPECT_GE(self->t.empty + SLACK, tables_now());
	EXPECT_TRUE(usable(&self->t));
}

static void empty_again(char *mem)
{
	for (size_t at = 0; at < LEN; at += PMD)
		WRITE_ONCE(mem[at], 1);
	madvise(mem, LEN, MADV_DONTNEED);
}

/* How many flushes freeing the kept tables asks another CPU for. */
static long flushes_of_drop(void)
{
	long before = flushes_asked(1);

	write_text("/proc/sys/vm/drop_caches", "2");
	return flushes_asked(1) - before;
}

/* Other tasks of the machine ask for flushes, too: what comes without kept tables is not ours. */
TEST_LONG(pressure, flushed)
{
	const int rounds = 8;
	long ours = 0, others = 0;
	bool stop = false;
	pthread_t thread;

	if (!can_count_flushes())
		SKIP(return, "needs two CPUs, and a TLB line in /proc/interrupts");
	ASSERT_EQ(0, pthread_create(&thread, NULL, spin, &stop));
	for (int i = 0; i < rounds; i++) {
		empty_again(self->t.mem);
		usleep(AGE);
		ours += flushes_of_drop();
		others += flushes_of_drop();
	}
	WRITE_ONCE(stop, true);
	pthread_join(thread, NULL);
	TH_LOG("%ld flushes, %ld without kept tables", ours, others);
	EXPECT_LE(rounds, ours - others);
	EXPECT_LE(rounds * NR_TABLES, unmap_stat("tables_freed") - self->t.freed);
}

static bool leave_tables(struct scene *scene)
{
	struct tables t = { .how = PRESSURE };

	CHECK(map_anon(&t));
	CHECK(!madvise(t.mem, LEN, MADV_DONTNEED));
	CHECK(all_there(&t));
	return true;
}

/* KASAN reports a use of the mm after the process has exited. */
TEST_LONG(pressure, ended)
{
	int log = kmsg_open();

	ASSERT_LE(0, log);
	for (int i = 0; i < 8; i++)
		ASSERT_TRUE(apart(leave_tables, NULL));
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
	reclaim_all(MIB);
	EXPECT_TRUE(kernel_is_calm(log));
	close(log);
}

/* Races. */

FIXTURE(races) {
	bool ready;
};

FIXTURE_VARIANT(races) {
	enum how how;
};

FIXTURE_VARIANT_ADD(races, eager) { .how = EAGER };
FIXTURE_VARIANT_ADD(races, pressure) { .how = PRESSURE };
FIXTURE_VARIANT_ADD(races, off) { .how = OFF };

FIXTURE_SETUP(races)
{
	const char *missing;

	/* Stock code frees no tables here: these races are of little use. */
	if (variant->how == OFF && !getenv("TABLES_SECONDS"))
		SKIP(return, "with the switch off, needs TABLES_SECONDS");
	missing = set_up(4, variant->how);
	if (missing)
		SKIP(return, "%s", missing);
	race_window(true);
}

FIXTURE_TEARDOWN(races)
{
	race_window(false);
	end();
}

#define COME_AND_GO	(BIT(OWN_WRITE) | BIT(OWN_DONTNEED) | BIT(OWN_PUNCH))

static void set_goal(struct race *race, enum how how)
{
	race->kept = how == PRESSURE;
	if (how == OFF)
		race->tables = 0;
	else if (race->kept)
		race->tables = race->tables ? 1 : FREED_KEPT;
	else if (!race->tables)
		race->tables = FREED;
}

static void run_race(struct __test_metadata *_metadata, enum how how, struct race race)
{
	const char *missing = race_needs(&race);

	if (missing)
		SKIP(return, "%s", missing);
	race.scene.fd = -1;
	set_goal(&race, how);
	EXPECT_TRUE(apart(race_job, &race.scene));
}

#define RACE(name, ...)								\
	TEST_LONG(races, name)							\
	{									\
		run_race(_metadata, variant->how, (struct race){ __VA_ARGS__ });	\
	}

RACE(faults_anon,
	.area = AREA_ANON,
	.own = COME_AND_GO)

RACE(faults_shmem,
	.area = AREA_SHMEM,
	.own = COME_AND_GO)

RACE(forks,
	.area = AREA_ANON,
	.own = COME_AND_GO | BIT(OWN_FREE) | BIT(OWN_FORK),
	.other = { BIT(OTHER_RECLAIM) | BIT(OTHER_PAGEOUT), BIT(OTHER_POKE) })

RACE(copied,
	.area = AREA_COPIED,
	.own = COME_AND_GO | BIT(OWN_FORK),
	.other = { BIT(OTHER_PUNCH), BIT(OTHER_PAGEOUT) })

RACE(moves_anon,
	.area = AREA_ANON,
	.own = COME_AND_GO | BIT(OWN_MOVE) | BIT(OWN_MOVE_NEAR) |
	       BIT(OWN_DONTUNMAP) | BIT(OWN_PAGEOUT),
	.other = { BIT(OTHER_EMPTY) })

RACE(moves_shmem,
	.area = AREA_SHMEM,
	.own = COME_AND_GO | BIT(OWN_MOVE) | BIT(OWN_MOVE_NEAR) | BIT(OWN_PAGEOUT),
	.other = { BIT(OTHER_EMPTY), BIT(OTHER_PUNCH) | BIT(OTHER_POKE) })

/* With KASAN, collapsing takes most of the time of these two. */
RACE(collapses_anon,
	.area = AREA_ANON,
	.tables = FREED / 8,
	.own = COME_AND_GO | BIT(OWN_READV),
	.other = { BIT(OTHER_COLLAPSE), BIT(OTHER_PAGEOUT) })

RACE(collapses_shmem,
	.area = AREA_SHMEM,
	.tables = FREED / 8,
	.own = COME_AND_GO | BIT(OWN_READV),
	.other = { BIT(OTHER_COLLAPSE), BIT(OTHER_PAGEOUT) })

/* While tables are collapsed, few of them become empty. */
RACE(shifts,
	.area = AREA_SHMEM,
	.tables = FREED / 40,
	.own = COME_AND_GO,
	.other = { BIT(OTHER_COLLAPSE), BIT(OTHER_SHIFT) })

RACE(protects_anon,
	.area = AREA_ANON,
	.own = COME_AND_GO | BIT(OWN_PROTECT) | BIT(OWN_FREE),
	.other = { BIT(OTHER_RECLAIM) | BIT(OTHER_PAGEOUT) })

RACE(protects_shmem,
	.area = AREA_SHMEM,
	.own = COME_AND_GO | BIT(OWN_PROTECT),
	.other = { BIT(OTHER_RECLAIM) | BIT(OTHER_PAGEOUT), BIT(OTHER_PUNCH) })

RACE(pins,
	.area = AREA_ANON,
	.own = COME_AND_GO | BIT(OWN_READV) | BIT(OWN_SPLICE))

RACE(pins_shmem,
	.area = AREA_SHMEM,
	.own = COME_AND_GO | BIT(OWN_READV) | BIT(OWN_SPLICE),
	.other = { BIT(OTHER_PUNCH) })

RACE(uffd_fills,
	.area = AREA_ANON,
	.uffd = UFFD_MISSING,
	.own = BIT(OWN_WRITE) | BIT(OWN_MOVE_IN) | BIT(OWN_DONTNEED))

RACE(uffd_fills_reclaimed,
	.area = AREA_ANON,
	.uffd = UFFD_MISSING,
	.own = BIT(OWN_WRITE) | BIT(OWN_MOVE_IN) | BIT(OWN_DONTNEED),
	.other = { BIT(OTHER_POKE), BIT(OTHER_PAGEOUT) })

RACE(uffd_protects,
	.area = AREA_SHMEM,
	.uffd = UFFD_WP,
	.own = COME_AND_GO | BIT(OWN_WP),
	.other = { BIT(OTHER_EMPTY), BIT(OTHER_PUNCH) })

RACE(reclaims,
	.area = AREA_SHMEM,
	.own = COME_AND_GO | BIT(OWN_PAGEOUT),
	.other = { BIT(OTHER_RECLAIM), BIT(OTHER_PAGEOUT) })

RACE(looks,
	.area = AREA_ANON,
	.own = COME_AND_GO,
	.other = { BIT(OTHER_LOOK), BIT(OTHER_LOOK) })

#define ALL_OWN		((BIT(OWN_FORK) << 1) - 1)

TEST_LONG(races, killed)
{
	struct race race = {
		.scene.fd = -1, .area = AREA_SHMEM, .own = ALL_OWN,
		.other = { BIT(OTHER_COLLAPSE) | BIT(OTHER_POKE),
			   BIT(OTHER_RECLAIM) | BIT(OTHER_PUNCH) | BIT(OTHER_PAGEOUT) },
	};
	long long before = vmstat("nr_page_table_pages");
	const char *missing = race_needs(&race);

	if (missing)
		SKIP(return, "%s", missing);
	set_goal(&race, variant->how);
	for (enum area area = AREA_ANON; area <= AREA_COPIED; area++) {
		race.area = area;
		EXPECT_TRUE(apart(race_killed_job, &race.scene));
	}
	usleep(500000);		/* tables that wait for a grace period */
	/* Per-CPU counters hold back a part of the count. */
	EXPECT_GE(before + 32 * sysconf(_SC_NPROCESSORS_ONLN), vmstat("nr_page_table_pages"));
}

TEST_F_TIMEOUT(races, stress, TIME_LIMIT * 100)
{
	struct race race = {
		.scene.fd = -1, .area = AREA_SHMEM, .own = ALL_OWN,
		.other = { BIT(OTHER_COLLAPSE) | BIT(OTHER_POKE) | BIT(OTHER_LOOK),
			   BIT(OTHER_RECLAIM) | BIT(OTHER_PUNCH) | BIT(OTHER_PAGEOUT) },
	};
	const char *missing = race_needs(&race);

	if (missing)
		SKIP(return, "%s", missing);
	set_goal(&race, variant->how);
	if (variant->how != OFF)
		race.other[0] |= BIT(OTHER_FLIP);
	EXPECT_TRUE(apart(race_stress_job, &race.scene));
}

TEST_HARNESS_MAIN
