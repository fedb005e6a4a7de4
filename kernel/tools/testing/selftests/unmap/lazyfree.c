// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lazyfree memory (MADV_FREE) under reclaim.
 *
 * clean             pages that were not written again read as zero; none is swapped out
 * flushed           a translation used just before reclaim is not used after it (bug 10, law 1)
 * rewritten         a range written again before reclaim keeps all its data (bug 7)
 * partly_rewritten  pages of a folio that were written again keep their data (bug 7)
 * raced             a concurrent writer's last store is what is read (bug 7)
 * straddles_tables  a folio across two page tables is freed; neighbours stay (bug 1, law 2)
 * vma_ends_inside   entries behind the end of the VMA stay (bug 1, law 2)
 * two_vmas          a folio mapped through two VMAs is unmapped from both (law 2)
 * holes             entries missing inside a folio are not counted (bug 5, law 4)
 * device_exclusive  entries that map a page without being present (bug 5)
 * shared_with_child a folio mapped by two processes is unmapped from both, and reads as zero
 * fork_then_free    a page that one process freed stays in the other process that maps it;
 *                   stock 6.12 loses it, and the test skips: see docs/stock-bugs.md
 * mlocked           a locked range stays as it is
 * droppable         dirty MAP_DROPPABLE memory may be freed, and is never swapped (law 5)
 * pmd_mapped        a folio mapped by a PMD is split and freed as a whole
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/mman.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../../../../lib/test_hmm_uapi.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define NEAR	(16 * PAGE)
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE	0x08
#endif

FIXTURE(lazyfree) {
	size_t folio;
	char *mem;
	long long freed, swapped;
};

FIXTURE_VARIANT(lazyfree) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(lazyfree, 4);
SIZE_VARIANTS(lazyfree, 64);
SIZE_VARIANTS(lazyfree, 1024);

FIXTURE_SETUP(lazyfree)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->folio = variant->kib * KIB;
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
	fill(self->mem, LEN, 1);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	self->freed = vmstat("pglazyfreed");
	self->swapped = vmstat("pswpout");
}

FIXTURE_TEARDOWN(lazyfree)
{
	end();
}

static long count_there(const void *mem, size_t len)
{
	return count_pages(mem, len, PM_PRESENT | PM_SWAP);
}

TEST_LONG(lazyfree, clean)
{
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_there(self->mem, LEN));
	EXPECT_EQ(PAGES, vmstat("pglazyfreed") - self->freed);
	EXPECT_EQ(0, vmstat("pswpout") - self->swapped);
	EXPECT_EQ(0, count_not_zero(self->mem, LEN));
}

TEST_LONG(lazyfree, flushed)
{
	/* Read the first and last pages of a folio, so that the TLB holds their translations. */
	const size_t at[] = { 0, PAGE, self->folio - PAGE };
	char sum = 0;

	for (int i = 0; i < 3; i++)
		sum |= READ_ONCE(self->mem[at[i]]);
	ASSERT_NE(0, sum);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, READ_ONCE(self->mem[at[i]]));
}

TEST_LONG(lazyfree, rewritten)
{
	fill(self->mem, LEN, 2);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, vmstat("pglazyfreed") - self->freed);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 2));
}

/* Pages that hold neither what was written last nor, if they were not rewritten, zero. */
static long count_lost(const char *mem, size_t len, size_t every)
{
	long lost = 0;

	for (size_t i = 0; i < len / PAGE; i++) {
		const char *page = mem + i * PAGE;

		if (i % every == 0)
			lost += !page_is(page, fill_byte(i, 2));
		else
			lost += !page_is(page, fill_byte(i, 1)) && !page_is(page, 0);
	}
	return lost;
}

TEST_LONG(lazyfree, partly_rewritten)
{
	for (long i = 0; i < PAGES; i += 5)
		memset(self->mem + i * PAGE, fill_byte(i, 2), PAGE);
	for (int pass = 0; pass < 3; pass++)
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_lost(self->mem, LEN, 5));
}

#define RACED		4	/* rounds in which pages were freed while a thread wrote */
#define RACE_LIMIT	30	/* seconds, until there were so many */

struct writer {
	char *mem;
	unsigned char seed;
	bool began, done;
};

static void *write_all(void *arg)
{
	struct writer *writer = arg;

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	WRITE_ONCE(writer->began, true);
	for (long i = 0; i < PAGES; i++) {
		memset(writer->mem + i * PAGE, fill_byte(i, writer->seed), PAGE);
		cpu_relax();
	}
	__atomic_store_n(&writer->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Evict until the thread has written all; @freed: the pages that were freed while it wrote. */
static bool evict_written(struct writer *writer, long long *freed)
{
	pthread_t thread;
	bool done = true;

	CHECK(!madvise(writer->mem, LEN, MADV_FREE));
	CHECK(!pthread_create(&thread, NULL, write_all, writer));
	while (!READ_ONCE(writer->began))
		cpu_relax();
	*freed = -vmstat("pglazyfreed");
	while (done && !__atomic_load_n(&writer->done, __ATOMIC_ACQUIRE)) {
		done = !madvise(writer->mem, LEN, MADV_PAGEOUT);
		cpu_relax();
	}
	*freed += vmstat("pglazyfreed");
	pthread_join(thread, NULL);
	CHECK(done);
	CHECK_EQ(0, count_wrong(writer->mem, LEN, writer->seed));
	return true;
}

static bool race_writers(char *mem)
{
	double limit = now() + RACE_LIMIT;

	for (int round = 0, met = 0; met < RACED; round++) {
		struct writer writer = { .mem = mem, .seed = 2 + round % 200 };
		long long freed;

		CHECK(now() < limit);
		CHECK(evict_written(&writer, &freed));
		met += freed > 0;
	}
	return true;
}

TEST_LONG(lazyfree, raced)
{
	EXPECT_TRUE(race_writers(self->mem));
}

/* Move the first folio so that @before of its pages lie before a 2 MiB boundary. */
static char *move_across(char *mem, size_t folio, long before)
{
	char *arena = map_aligned(2 * PMD, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *to = arena + PMD - before * PAGE;

	if (arena == MAP_FAILED)
		return MAP_FAILED;
	fill(to - NEAR, NEAR, 7);
	fill(to + folio, NEAR, 8);
	return mremap(mem, folio, folio, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

static void check_gone(struct __test_metadata *_metadata, char *moved, size_t folio)
{
	EXPECT_EQ(0, count_there(moved, folio));
	EXPECT_EQ(0, count_not_zero(moved, folio));
	EXPECT_EQ(0, count_wrong(moved - NEAR, NEAR, 7));
	EXPECT_EQ(0, count_wrong(moved + folio, NEAR, 8));
}

TEST_LONG(lazyfree, straddles_tables)
{
	const long pages = self->folio / PAGE;
	const long before[] = { 1, pages - 1, pages / 2 };
	const long nr = LEN / self->folio < 3 ? LEN / self->folio : 3;
	long long runs = unmap_stat("evict_runs");
	char *moved[3];

	if (pages == 1)
		SKIP(return, "a single page cannot straddle");
	for (long i = 0; i < nr; i++) {
		moved[i] = move_across(self->mem + i * self->folio, self->folio, before[i]);
		ASSERT_NE(MAP_FAILED, moved[i]);
		ASSERT_EQ(pages, count_pages(moved[i], self->folio, PM_PRESENT));
		ASSERT_TRUE(!!(page_flags(moved[i] + PAGE) & PAGE_TAIL));
	}
	reclaim_file(2 * LEN);
	for (long i = 0; i < nr; i++)
		check_gone(_metadata, moved[i], self->folio);
	/* Each folio takes one run in each of its tables. */
	if (variant->on)
		EXPECT_LE(2 * nr, unmap_stat("evict_runs") - runs);
}

TEST_LONG(lazyfree, vma_ends_inside)
{
	const size_t kept = self->folio / 2;
	char *next = self->mem + kept;

	if (self->folio == PAGE)
		SKIP(return, "no VMA ends inside a single page");
	/* Another mapping replaces the second half of the folio's range. */
	ASSERT_EQ(next, mmap(next, NEAR, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	fill(next, NEAR, 3);
	reclaim_file(2 * LEN);
	EXPECT_EQ(0, count_there(self->mem, kept));
	EXPECT_EQ((long)(NEAR / PAGE), count_pages(next, NEAR, PM_PRESENT));
	EXPECT_EQ(0, count_not_zero(self->mem, kept));
	EXPECT_EQ(0, count_wrong(next, NEAR, 3));
}

TEST_LONG(lazyfree, two_vmas)
{
	/* Cut each folio after its first page, in its middle, or before its last page. */
	for (size_t i = 0; i < LEN / self->folio; i++) {
		size_t cuts[] = { PAGE, self->folio / 2, self->folio - PAGE };

		ASSERT_EQ(0, mprotect(self->mem + i * self->folio, cuts[i % 3] & -PAGE,
				      PROT_READ));
	}
	reclaim_file(2 * LEN);
	EXPECT_EQ(0, count_there(self->mem, LEN));
	EXPECT_EQ(PAGES, vmstat("pglazyfreed") - self->freed);
	EXPECT_EQ(0, count_not_zero(self->mem, LEN));
}

TEST_LONG(lazyfree, holes)
{
	long long rss;

	for (long i = 2; i < PAGES; i += 7)
		ASSERT_EQ(0, madvise(self->mem + i * PAGE, PAGE, MADV_DONTNEED));
	rss = status_pages("RssAnon") - count_there(self->mem, LEN);
	reclaim_file(2 * LEN);
	EXPECT_EQ(0, count_there(self->mem, LEN));
	/* The counters of two CPUs may each be off by one batch. */
	EXPECT_GE(128, llabs(status_pages("RssAnon") - rss));
	EXPECT_EQ(0, count_not_zero(self->mem, LEN));
}

TEST_LONG(lazyfree, device_exclusive)
{
	char *mirror = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct hmm_dmirror_cmd cmd = {
		.addr = (uintptr_t)self->mem,
		.ptr = (uintptr_t)mirror,
		.npages = 1,
	};
	int fd = open("/dev/hmm_dmirror0", O_RDWR);
	long long expected;

	if (fd < 0)
		SKIP(return, "no /dev/hmm_dmirror0 (CONFIG_TEST_HMM)");
	for (cmd.addr += PAGE; cmd.addr < (uintptr_t)self->mem + LEN; cmd.addr += 5 * PAGE)
		if (ioctl(fd, HMM_DMIRROR_EXCLUSIVE, &cmd) && cmd.addr % self->folio == 0)
			TH_LOG("no exclusive access to %llx", (unsigned long long)cmd.addr);
	expected = status_pages("RssAnon") - PAGES;
	reclaim_file(2 * LEN);
	expected += count_there(self->mem, LEN);
	close(fd);
	/* Exclusive access dirties a page: a page keeps its data, or was freed and is zero. */
	EXPECT_GE(128, llabs(status_pages("RssAnon") - expected));
	for (long i = 0; i < PAGES; i++) {
		const char *page = self->mem + i * PAGE;

		ASSERT_TRUE(page_is(page, 0) || page_is(page, fill_byte(i, 1)));
	}
}

TEST_LONG(lazyfree, shared_with_child)
{
	int pipes[2], status;
	char token;
	pid_t child;

	ASSERT_EQ(0, pipe(pipes));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		close(pipes[1]);
		token = read(pipes[0], &token, 1);
		_exit(count_there(self->mem, LEN) || count_not_zero(self->mem, LEN));
	}
	reclaim_file(2 * LEN);
	EXPECT_EQ(0, count_there(self->mem, LEN));
	EXPECT_EQ(PAGES, vmstat("pglazyfreed") - self->freed);
	EXPECT_EQ(0, count_not_zero(self->mem, LEN));
	close(pipes[1]);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

/*
 * A page that was read from zram has no dirty bit, in its entry or its folio, although no
 * other copy exists.  fork() shares such pages; then only the child frees them.
 */
TEST_LONG(lazyfree, fork_then_free)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	long lost;
	pid_t child;

	ASSERT_NE(MAP_FAILED, mem);
	fill(mem, LEN, 5);
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(mem, LEN, 5));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(madvise(mem, LEN, MADV_FREE) || madvise(mem, LEN, MADV_PAGEOUT));
	waitpid(child, NULL, 0);
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	lost = count_wrong(mem, LEN, 5);
	munmap(mem, LEN);
	if (lost)
		SKIP(return, "known bug of stock 6.12: the parent lost what its child freed");
}

TEST_LONG(lazyfree, mlocked)
{
	ASSERT_EQ(0, mlock(self->mem, LEN));
	EXPECT_EQ(-1, madvise(self->mem, LEN, MADV_PAGEOUT));
	reclaim_file(2 * LEN);
	EXPECT_EQ(PAGES, count_pages(self->mem, LEN, PM_PRESENT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 1));
}

TEST_LONG(lazyfree, droppable)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_DROPPABLE | MAP_ANONYMOUS, -1);

	if (mem == MAP_FAILED)
		SKIP(return, "no MAP_DROPPABLE");
	fill(mem, LEN, 2);
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_there(mem, LEN));
	EXPECT_EQ(0, vmstat("pswpout") - self->swapped);
	EXPECT_EQ(0, count_not_zero(mem, LEN));
}

FIXTURE(lazyfree_pmd) {
	char *mem;
};

FIXTURE_VARIANT(lazyfree_pmd) {
	unsigned long kib;
	bool on;
};

FIXTURE_VARIANT_ADD(lazyfree_pmd, on) { .kib = PMD / KIB, .on = true };
FIXTURE_VARIANT_ADD(lazyfree_pmd, off) { .kib = PMD / KIB };

FIXTURE_SETUP(lazyfree_pmd)
{
	const char *missing = PMD > 64 * MIB ? "takes much memory with pages of this size" :
					       begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->mem = map_aligned(2 * PMD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
	fill(self->mem, 2 * PMD, 1);
	ASSERT_TRUE(folios_are(self->mem, 2 * PMD, variant->kib));
	ASSERT_LE(2 * PMD / KIB, read_field("/proc/self/smaps_rollup", "AnonHugePages:"));
	ASSERT_EQ(0, madvise(self->mem, 2 * PMD, MADV_FREE));
}

FIXTURE_TEARDOWN(lazyfree_pmd)
{
	end();
}

TEST_LONG(lazyfree_pmd, pmd_mapped)
{
	long long freed = vmstat("pglazyfreed");

	ASSERT_EQ(0, madvise(self->mem, 2 * PMD, MADV_PAGEOUT));
	EXPECT_EQ(0, count_there(self->mem, 2 * PMD));
	EXPECT_EQ((long)(2 * PMD / PAGE), vmstat("pglazyfreed") - freed);
	EXPECT_EQ(0, count_not_zero(self->mem, 2 * PMD));
}

TEST_LONG(lazyfree_pmd, rewritten)
{
	for (size_t i = 3; i < PMD / PAGE; i += 100)
		memset(self->mem + i * PAGE, fill_byte(i, 2), PAGE);
	for (int pass = 0; pass < 2; pass++)
		ASSERT_EQ(0, madvise(self->mem, 2 * PMD, MADV_PAGEOUT));
	for (size_t i = 3; i < PMD / PAGE; i += 100)
		EXPECT_TRUE(page_is(self->mem + i * PAGE, fill_byte(i, 2)));
}

TEST_HARNESS_MAIN
