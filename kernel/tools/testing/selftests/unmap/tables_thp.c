// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transparent huge pages after page tables were given back (law 11): a later fault allocates
 * what it would have allocated if the table had stayed.
 *
 * Each test runs with the switch off, where tables stay, and with every policy.  "eager" and
 * "pressure" must behave as if tables had stayed, except where stock frees them, too: on Linux
 * 6.18, if one MADV_DONTNEED has discarded a whole table.  With "huge", huge pages come back, and
 * so they do with every policy on architectures other than x86-64, which have no marks.  A test
 * touches one page of each 2 MiB, and counts how many of these 2 MiB are huge then.
 *
 * pieces_4K       huge pages, purged a page at a time
 * pieces_64K      64 KiB at a time
 * unaligned       2 MiB at a time, shifted by 1 MiB
 * lazyfree        MADV_FREE and reclaim
 * shmem           a hole punched in shmem of small pages; huge pages are enabled then
 * holes           MADV_DONTNEED of shmem in pieces: its huge folios stay
 * whole           one MADV_DONTNEED of all: of pages, and of a range that was purged before
 * mixed           MADV_DONTNEED in pieces that cover a whole table and a part of the next
 * switched_off    memory that was purged in pieces, discarded after the switch was turned off
 * two_vmas        one MADV_DONTNEED of two VMAs that share each table
 * remapped        munmap(), and mmap() at the same address
 * forked          while a child reads it
 * inherited       memory that was purged before fork(), in the child and in its child
 * not_inherited   a mapping whose tables fork() does not copy, between two that it copies
 * moved           mremap() to an address with the same alignment
 * moved_unaligned mremap() to an address with another alignment
 * dontunmap       the source of mremap() with MREMAP_DONTUNMAP
 * grown           a VMA that grows to 2 MiB after it was purged
 * heap            brk() shrinks the heap by whole tables and a part of one, and grows it again
 * collapsed_holes MADV_COLLAPSE of all collapses what follows a purged range, too
 * collapsed_shmem MADV_COLLAPSE of private shmem that was purged
 * collapsed_by_other  ... of another mapping of the same shmem
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif

#define NR_TABLES	32
#define LEN		(NR_TABLES * PMD)
#define CHUNK		(64 * KIB)
#define SEED		17
#define TIME_LIMIT	120	/* seconds: on a very busy machine, too */

enum how { OFF, EAGER, PRESSURE, HUGE };

static const char * const policies[] = {
	[EAGER]		= "eager",
	[PRESSURE]	= "pressure",
	[HUGE]		= "huge",
};

FIXTURE(thp) {
	enum how how;
	long long freed;
};

FIXTURE_VARIANT(thp) {
	enum how how;
};

FIXTURE_VARIANT_ADD(thp, off) { .how = OFF };
FIXTURE_VARIANT_ADD(thp, eager) { .how = EAGER };
FIXTURE_VARIANT_ADD(thp, pressure) { .how = PRESSURE };
FIXTURE_VARIANT_ADD(thp, huge) { .how = HUGE };

/* NULL, or what the machine lacks. */
static const char *set_up(enum how how)
{
	const char *missing = begin(PMD / KIB, how != OFF);

	if (missing)
		return missing;
	if (how == OFF)
		return NULL;
	if (!switch_has(UNMAP_TABLES) || !write_text(POLICY, policies[how])) {
		end();
		return "this kernel gives no page tables back, or lacks this policy";
	}
	return NULL;
}

FIXTURE_SETUP(thp)
{
	const char *missing = set_up(variant->how);

	if (missing)
		SKIP(return, "%s", missing);
	self->how = variant->how;
	self->freed = unmap_stat("tables_freed");
}

FIXTURE_TEARDOWN(thp)
{
	end();
}

/* Anonymous memory, filled, with huge pages if they are enabled. */
static char *map_filled(void)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (mem != MAP_FAILED)
		fill(mem, LEN, SEED);
	return mem;
}

/*
 * Disable or enable huge pages for this process.  Not through sysfs: khugepaged would end,
 * and scan this process when it starts again.
 */
static bool small_pages(bool small)
{
	return !prctl(PR_SET_THP_DISABLE, small, 0, 0, 0);
}

static char *map_small(void)
{
	char *mem = small_pages(true) ? map_filled() : MAP_FAILED;

	return small_pages(false) ? mem : MAP_FAILED;
}

/* Whether @nr empty tables were given back; true if the switch is off. */
static bool given_back(enum how how, long long freed, int nr)
{
	if (how == OFF)
		return true;
	if (how == PRESSURE) {
		CHECK_EQ(0, unmap_stat("tables_freed") - freed);
		usleep(AGE);
		CHECK(write_text("/proc/sys/vm/drop_caches", "2"));
	}
	/* If a lock was not free, mm/unmap tries again a little later. */
	AWAIT(unmap_stat("tables_freed") - freed >= nr);
	/* drop_caches frees what others have kept, too. */
	if (how != PRESSURE)
		CHECK_EQ(nr, unmap_stat("tables_freed") - freed);
	return true;
}

static bool discard_in(char *mem, size_t len, size_t piece)
{
	for (size_t at = 0; at < len; at += piece)
		CHECK(!madvise(mem + at, at + piece < len ? piece : len - at, MADV_DONTNEED));
	return true;
}

static bool purge(enum how how, long long freed, char *mem, size_t piece)
{
	CHECK(mem != MAP_FAILED);
	CHECK(discard_in(mem, LEN, piece));
	return given_back(how, freed, NR_TABLES);
}

/* Touch one page of each 2 MiB: the fault maps a huge page if it may. */
static void touch(char *mem, size_t len)
{
	for (size_t at = 0; at < len; at += PMD)
		WRITE_ONCE(mem[at + PMD / 2], 1);
}

/* How many stretches of 2 MiB are mapped huge. */
static long count_huge(const char *mem, size_t len)
{
	long kib = smaps_kib(mem, len, "AnonHugePages") + smaps_kib(mem, len, "ShmemPmdMapped");

	return kib * (long)KIB / (long)PMD;
}

/* Whether tables go without leaving a mark. */
static bool no_marks(enum how how)
{
#ifdef __x86_64__
	return how == HUGE;
#else
	return how != OFF;
#endif
}

/* @as_ever ranges are huge, as if tables had stayed; or @most without marks. */
static bool come_back(enum how how, char *mem, size_t len, long as_ever, long most)
{
	touch(mem, len);
	CHECK_EQ(no_marks(how) ? most : as_ever, count_huge(mem, len));
	return true;
}

/* Nothing is huge, and only the touched pages take memory. */
static bool single_pages(enum how how, char *mem)
{
	CHECK(come_back(how, mem, LEN, 0, NR_TABLES));
	if (!no_marks(how))
		CHECK_EQ(NR_TABLES * PAGE / KIB, smaps_kib(mem, LEN, "Rss"));
	return true;
}

TEST_LONG(thp, pieces_4K)
{
	char *mem = map_filled();

	ASSERT_EQ(NR_TABLES, count_huge(mem, LEN));
	ASSERT_TRUE(purge(self->how, self->freed, mem, PAGE));
	EXPECT_TRUE(single_pages(self->how, mem));
}

TEST_LONG(thp, pieces_64K)
{
	char *mem = map_filled();

	ASSERT_EQ(NR_TABLES, count_huge(mem, LEN));
	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	EXPECT_TRUE(single_pages(self->how, mem));
	/* Once more: the new tables have replaced the marks. */
	self->freed = unmap_stat("tables_freed");
	fill(mem, LEN, SEED);
	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	EXPECT_TRUE(single_pages(self->how, mem));
}

TEST_LONG(thp, unaligned)
{
	char *mem = map_filled();

	ASSERT_EQ(0, madvise(mem, PMD / 2, MADV_DONTNEED));
	ASSERT_TRUE(discard_in(mem + PMD / 2, LEN - PMD, PMD));
	ASSERT_EQ(0, madvise(mem + LEN - PMD / 2, PMD / 2, MADV_DONTNEED));
	ASSERT_TRUE(given_back(self->how, self->freed, NR_TABLES));
	EXPECT_TRUE(single_pages(self->how, mem));
}

TEST_LONG(thp, lazyfree)
{
	char *mem = map_small();

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, madvise(mem, LEN, MADV_FREE));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	ASSERT_EQ(0, count_pages(mem, LEN, PM_PRESENT | PM_SWAP));
	ASSERT_TRUE(given_back(self->how, self->freed, NR_TABLES));
	EXPECT_TRUE(single_pages(self->how, mem));
}

static char *map_shmem(int *fd, size_t len)
{
	*fd = memfd_create("unmap", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, len))
		return MAP_FAILED;
	return map_aligned(len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd);
}

/* Shmem filled with small pages; later pages may be huge. */
static char *map_small_shmem(int *fd)
{
	char *mem;

	if (!small_pages(true))
		return MAP_FAILED;
	mem = map_shmem(fd, LEN);
	if (mem != MAP_FAILED)
		fill(mem, LEN, SEED);
	return small_pages(false) ? mem : MAP_FAILED;
}

TEST_LONG(thp, shmem)
{
	char *mem;
	int fd;

	mem = map_small_shmem(&fd);
	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	ASSERT_TRUE(given_back(self->how, self->freed, NR_TABLES));
	EXPECT_TRUE(come_back(self->how, mem, LEN, 0, NR_TABLES));
	close(fd);
}

/* PTEs map the huge folios: @other was touched while huge pages were disabled. */
TEST_LONG(thp, holes)
{
	char *mem, *other;
	int fd;

	mem = map_shmem(&fd, LEN);
	ASSERT_NE(MAP_FAILED, mem);
	fill(mem, LEN, SEED);
	ASSERT_EQ(NR_TABLES, count_huge(mem, LEN));
	other = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	ASSERT_NE(MAP_FAILED, other);
	ASSERT_TRUE(small_pages(true));
	touch(other, LEN);
	ASSERT_TRUE(small_pages(false));
	ASSERT_EQ(0, count_huge(other, LEN));
	ASSERT_TRUE(purge(self->how, self->freed, other, CHUNK));
	EXPECT_TRUE(come_back(self->how, other, LEN, 0, NR_TABLES));
	EXPECT_EQ(0, count_wrong(mem, PMD / 2, SEED));
	close(fd);
}

TEST_LONG(thp, whole)
{
	/* One MADV_DONTNEED frees whole tables where stock does, and leaves marks where not. */
	long all = kernel_before(6, 18) || self->how == PRESSURE ? 0 : NR_TABLES;
	char *mem = map_small();

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, madvise(mem, LEN, MADV_DONTNEED));
	ASSERT_TRUE(given_back(self->how, self->freed, NR_TABLES));
	EXPECT_TRUE(come_back(self->how, mem, LEN, all, NR_TABLES));
	/* Now the range has marks already. */
	self->freed = unmap_stat("tables_freed");
	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_DONTNEED));
	all = kernel_before(6, 18) ? 0 : NR_TABLES;
	EXPECT_TRUE(come_back(self->how, mem, LEN, all, NR_TABLES));
}

/* Pieces that cover a whole table, and a part of the next. */
TEST_LONG(thp, mixed)
{
	char *mem = map_small();

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_TRUE(discard_in(mem, LEN, PMD + CHUNK));
	ASSERT_TRUE(given_back(self->how, self->freed, NR_TABLES));
	/* The first piece covers its table. */
	EXPECT_TRUE(come_back(self->how, mem, LEN,
			      !kernel_before(6, 18) && self->how != PRESSURE, NR_TABLES));
}

TEST_LONG(thp, switched_off)
{
	char *mem = map_filled();

	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	if (self->how != OFF)
		ASSERT_TRUE(write_number(UNMAP_SYSFS "enabled", 0));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_DONTNEED));
	EXPECT_TRUE(come_back(self->how, mem, LEN, kernel_before(6, 18) ? 0 : NR_TABLES,
			      NR_TABLES));
}

static bool protect_halves(char *mem, int prot)
{
	for (size_t at = 0; at < LEN; at += PMD)
		CHECK(!mprotect(mem + at, PMD / 2, prot));
	return true;
}

TEST_LONG(thp, two_vmas)
{
	char *mem = map_small();

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_TRUE(protect_halves(mem, PROT_READ));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_DONTNEED));
	ASSERT_TRUE(protect_halves(mem, PROT_READ | PROT_WRITE));
	ASSERT_TRUE(given_back(self->how, self->freed, NR_TABLES));
	EXPECT_TRUE(single_pages(self->how, mem));
}

TEST_LONG(thp, remapped)
{
	char *mem = map_filled();

	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	/* The last 2 MiB stay mapped, and keep the upper-level table. */
	ASSERT_EQ(0, munmap(mem, LEN - PMD));
	ASSERT_EQ(mem, mmap(mem, LEN - PMD, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_TRUE(come_back(self->how, mem, LEN, NR_TABLES - 1, NR_TABLES));
}

TEST_LONG(thp, forked)
{
	char *mem = map_filled();
	pid_t child;
	int status;

	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(count_not_zero(mem, LEN) != 0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(come_back(self->how, mem, LEN, 0, NR_TABLES));
}

/* A process with purged memory, and how many generations of children it gets. */
struct heir {
	struct scene scene;		/* for apart() */
	enum how how;
	char *mem;
	int descendants;
};

/* The youngest touches the memory first. */
static bool inherit(struct scene *scene)
{
	struct heir *heir = (struct heir *)scene;

	if (heir->descendants) {
		heir->descendants--;
		CHECK(apart(inherit, scene));
	}
	return single_pages(heir->how, heir->mem);
}

TEST_LONG(thp, inherited)
{
	struct heir heir = { .how = self->how, .mem = map_filled(), .descendants = 2 };

	ASSERT_TRUE(purge(self->how, self->freed, heir.mem, CHUNK));
	EXPECT_TRUE(inherit(&heir.scene));
}

/* A mapping of @fd, with one private page in the tables before and after it. */
static char *map_between(int fd)
{
	char *mem = map_aligned(LEN + 2 * PMD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (mem == MAP_FAILED)
		return mem;
	WRITE_ONCE(mem[PMD - PAGE], 1);
	WRITE_ONCE(mem[PMD + LEN], 1);
	return mmap(mem + PMD, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
}

static bool all_huge(struct scene *scene)
{
	struct heir *heir = (struct heir *)scene;

	touch(heir->mem, LEN);
	CHECK_EQ(NR_TABLES, count_huge(heir->mem, LEN));
	return true;
}

TEST_LONG(thp, not_inherited)
{
	struct heir heir = { .how = self->how };
	char *mem;
	int fd;

	mem = map_shmem(&fd, LEN);
	ASSERT_NE(MAP_FAILED, mem);
	fill(mem, LEN, SEED);
	ASSERT_TRUE(small_pages(true));
	heir.mem = map_between(fd);
	ASSERT_NE(MAP_FAILED, heir.mem);
	touch(heir.mem, LEN);
	ASSERT_TRUE(small_pages(false));
	ASSERT_TRUE(purge(self->how, self->freed, heir.mem, CHUNK));
	EXPECT_TRUE(apart(all_huge, &heir.scene));
	EXPECT_TRUE(come_back(self->how, heir.mem, LEN, 0, NR_TABLES));
	close(fd);
}

static char *move(char *mem, int flags, size_t shift)
{
	char *to = map_aligned(LEN + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (to == MAP_FAILED)
		return to;
	return mremap(mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED | flags, to + shift);
}

TEST_LONG(thp, moved)
{
	char *mem = map_filled();

	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	mem = move(mem, 0, 0);
	ASSERT_NE(MAP_FAILED, mem);
	EXPECT_TRUE(single_pages(self->how, mem));
}

TEST_LONG(thp, moved_unaligned)
{
	char *mem = map_filled();

	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	mem = move(mem, 0, PMD / 2);
	ASSERT_NE(MAP_FAILED, mem);
	/* The first and the last 2 MiB are mapped only half. */
	EXPECT_TRUE(come_back(self->how, mem, LEN, 0, NR_TABLES - 1));
}

TEST_LONG(thp, dontunmap)
{
	char *mem = map_filled(), *to;

	ASSERT_TRUE(purge(self->how, self->freed, mem, CHUNK));
	to = move(mem, MREMAP_DONTUNMAP, 0);
	ASSERT_NE(MAP_FAILED, to);
	EXPECT_TRUE(single_pages(self->how, to));
	EXPECT_TRUE(come_back(self->how, mem, LEN, NR_TABLES, NR_TABLES));
}

TEST_LONG(thp, grown)
{
	char *mem = map_aligned(2 * PMD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, munmap(mem + PMD / 2, PMD + PMD / 2));
	fill(mem, PMD / 2, SEED);
	ASSERT_TRUE(discard_in(mem, PMD / 2, CHUNK));
	ASSERT_TRUE(given_back(self->how, self->freed, 1));
	ASSERT_EQ(mem, mremap(mem, PMD / 2, 2 * PMD, 0));
	EXPECT_TRUE(come_back(self->how, mem, 2 * PMD, 1, 2));
}

/* Moves the break behind malloc()'s back, which copes with that. */
TEST_LONG(thp, heap)
{
	uintptr_t top = (uintptr_t)sbrk(0);
	char *mem = (char *)((top + PMD - 1) & ~(PMD - 1));

	ASSERT_EQ(0, brk(mem + 4 * PMD));
	fill(mem, 4 * PMD, SEED);
	ASSERT_TRUE(discard_in(mem, 4 * PMD, CHUNK));
	ASSERT_TRUE(given_back(self->how, self->freed, 4));
	ASSERT_EQ(0, brk(mem + PMD + PMD / 2));
	ASSERT_EQ(0, brk(mem + 4 * PMD));
	/* brk() freed the tables of two; the other two have marks. */
	EXPECT_TRUE(come_back(self->how, mem, 4 * PMD, 2, 4));
}

TEST_LONG(thp, collapsed_holes)
{
	char *mem = map_small();
	long huge;

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_TRUE(discard_in(mem + PMD, PMD, CHUNK));
	ASSERT_TRUE(given_back(self->how, self->freed, 1));
	/* Without a mark MADV_COLLAPSE passes over a missing table; before 7.0 it stops there. */
	if (no_marks(self->how))
		huge = kernel_before(7, 0) ? 1 : NR_TABLES - 1;
	else	/* an empty table becomes a huge page since 6.18 */
		huge = NR_TABLES - kernel_before(6, 18);
	EXPECT_EQ(huge == NR_TABLES ? 0 : -1, madvise(mem, LEN, MADV_COLLAPSE));
	EXPECT_EQ(huge, count_huge(mem, LEN));
}

TEST_LONG(thp, collapsed_shmem)
{
	char *all, *mem;
	int fd;

	all = map_small_shmem(&fd);
	ASSERT_NE(MAP_FAILED, all);
	mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	ASSERT_NE(MAP_FAILED, mem);
	/* A private copy: khugepaged does not retract the tables of such a VMA. */
	WRITE_ONCE(mem[LEN - 1], 1);
	for (size_t at = 0; at < PMD; at += PAGE)
		READ_ONCE(mem[at]);
	ASSERT_TRUE(discard_in(mem, PMD, CHUNK));
	ASSERT_TRUE(given_back(self->how, self->freed, 1));
	ASSERT_TRUE(make_huge_pages(mem, PMD));
	EXPECT_EQ(1, count_huge(mem, LEN));
	EXPECT_EQ(0, count_wrong(mem, PMD, SEED));
	close(fd);
}

TEST_LONG(thp, collapsed_by_other)
{
	char *mem, *other;
	int fd;

	mem = map_small_shmem(&fd);
	ASSERT_NE(MAP_FAILED, mem);
	other = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	ASSERT_NE(MAP_FAILED, other);
	ASSERT_EQ(0, count_wrong(other, LEN, SEED));
	ASSERT_TRUE(purge(self->how, self->freed, other, CHUNK));
	ASSERT_TRUE(make_huge_pages(mem, LEN));
	EXPECT_EQ(NR_TABLES, count_huge(mem, LEN));
	EXPECT_TRUE(come_back(self->how, other, LEN, NR_TABLES, NR_TABLES));
	close(fd);
}

TEST_HARNESS_MAIN
