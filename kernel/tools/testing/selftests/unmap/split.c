// SPDX-License-Identifier: GPL-2.0-only
/*
 * A folio that is split leaves migration entries, until its parts are mapped again, many in one
 * walk (law 16).  debugfs splits the folios of a range.
 *
 * whole       content, rss and statistics are as before, and each page is a folio of its own
 * parts       the same, of parts that are large folios
 * uneven      the same, of parts of several sizes (Linux 6.18)
 * zeroes      pages full of zeroes give their memory back, and can be written
 * marks       soft-dirty and userfaultfd's write protection, in every other entry
 * shared      of each folio one half is shared with a child: it stays copy-on-write
 * lazyfree    freed memory can still be dropped, or is kept if it is written
 * half_there  a folio of which half is not mapped
 * two_tables  a folio that two page tables map
 * mlocked     memory that is locked stays locked, full of zeroes or not
 * referenced  a folio with an extra reference is not split, and keeps all of its entries
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define SPLIT		"/sys/kernel/debug/split_huge_pages"
#define LEN		(4 * RANGE)
#define PAGES		((long)(LEN / PAGE))
#define SEED		31
#define TIME_LIMIT	300	/* seconds: on a very busy machine, too */

FIXTURE(split) {
	char *mem;
	size_t folio;
	long long walks, anon;
	long rss;
	__u64 before[LEN / PAGE];
};

FIXTURE_VARIANT(split) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(split, 64);
SIZE_VARIANTS(split, 1024);
SIZE_VARIANTS(split, 2048);

FIXTURE_SETUP(split)
{
	const char *missing = begin(variant->kib, variant->on);

	if (!missing && access(SPLIT, F_OK))
		missing = "needs CONFIG_DEBUG_FS";
	if (missing)
		SKIP(return, "%s", missing);
	self->folio = variant->kib * KIB;
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
	fill(self->mem, LEN, SEED);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	self->walks = unmap_stat("split_walks");
	self->anon = cgroup_stat("anon");
	self->rss = smaps_kib(self->mem, LEN, "Rss");
}

FIXTURE_TEARDOWN(split)
{
	if (self->mem)
		munmap(self->mem, LEN);
	end();
}

/* Split the folios of a range into parts of @kib KiB. */
static bool split_into(const char *mem, size_t len, unsigned long kib)
{
	char text[80];
	int order = 0;

	while (PAGE << order < kib * KIB)
		order++;
	snprintf(text, sizeof(text), "%d,0x%lx,0x%lx,%d", getpid(), (uintptr_t)mem,
		 (uintptr_t)mem + len, order);
	return write_text(SPLIT, text);
}

/* Split the folio at @mem, as little as makes its page @page a folio of its own. */
static bool split_around(const char *mem, long page)
{
	char text[96];

	snprintf(text, sizeof(text), "%d,0x%lx,0x%lx,0,%ld", getpid(), (uintptr_t)mem,
		 (uintptr_t)mem + PAGE, page);
	return write_text(SPLIT, text);
}

/* Split everything; true if all of it is in single pages, and has its content. */
static bool split_all(const char *mem, unsigned char seed)
{
	CHECK(split_into(mem, LEN, PAGE / KIB));
	CHECK(folios_are(mem, LEN, PAGE / KIB));
	CHECK_EQ(0, count_wrong(mem, LEN, seed));
	return true;
}

static bool in_walks(bool on)
{
	return on && switch_has(UNMAP_RELOCATE);
}

/*
 * A reading of a control group's statistics misses up to 64 changes (pages) that each processor
 * keeps to itself, and as many again for each until the sum is worth a flush; so do both readings.
 */
static bool is_about(long long before, long long now)
{
	long long most = 2 * 2 * 64 * sysconf(_SC_NPROCESSORS_CONF);

	return llabs(before - now) <= most * (long long)PAGE;
}

TEST_LONG(split, whole)
{
	long folios = LEN / self->folio, walks;

	ASSERT_TRUE(split_all(self->mem, SEED));
	EXPECT_EQ(self->rss, smaps_kib(self->mem, LEN, "Rss"));
	EXPECT_TRUE(is_about(self->anon, cgroup_stat("anon")));
	for (long i = 0; i < PAGES; i++)
		EXPECT_EQ(1, page_mapcount(self->mem + i * PAGE));
	walks = unmap_stat("split_walks") - self->walks;
	EXPECT_LE(in_walks(variant->on) ? folios : 0, walks);
	EXPECT_GE(in_walks(variant->on) ? PAGES : 0, walks);
	fill(self->mem, LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
	ASSERT_EQ(0, munmap(self->mem, LEN));
	self->mem = NULL;
	EXPECT_TRUE(is_about(self->anon - (long long)LEN, cgroup_stat("anon")));
}

TEST_LONG(split, parts)
{
	unsigned long parts = self->folio > 64 * KIB ? 64 : 16;

	ASSERT_TRUE(split_into(self->mem, LEN, parts));
	EXPECT_TRUE(folios_are(self->mem, LEN, parts));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	EXPECT_EQ(self->rss, smaps_kib(self->mem, LEN, "Rss"));
	fill(self->mem, LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
	ASSERT_TRUE(split_all(self->mem, SEED + 1));
}

TEST_LONG(split, uneven)
{
	long pages = self->folio / PAGE, at[] = { 0, pages / 2, pages - 1 };

	if (kernel_before(6, 18))
		SKIP(return, "older kernels split folios into equal parts");
	for (size_t i = 0; i < 3; i++)
		ASSERT_TRUE(split_around(self->mem + i * self->folio, at[i]));
	EXPECT_FALSE(folios_are(self->mem, self->folio, variant->kib));
	EXPECT_FALSE(folios_are(self->mem, self->folio, PAGE / KIB));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	for (long i = 0; i < PAGES; i++)
		EXPECT_EQ(1, page_mapcount(self->mem + i * PAGE));
	EXPECT_EQ(self->rss, smaps_kib(self->mem, LEN, "Rss"));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	ASSERT_EQ(0, munmap(self->mem, LEN));
	self->mem = NULL;
	EXPECT_TRUE(is_about(self->anon - (long long)LEN, cgroup_stat("anon")));
}

/* Every third page is full of zeroes. */
static bool is_zeroed(long page)
{
	return page % 3 == 1;
}

static long count_zeroed(void)
{
	long zeroed = 0;

	for (long i = 0; i < PAGES; i++)
		zeroed += is_zeroed(i);
	return zeroed;
}

static void zero_thirds(char *mem)
{
	for (long i = 0; i < PAGES; i++)
		if (is_zeroed(i))
			memset(mem + i * PAGE, 0, PAGE);
}

/* Pages that have neither their content nor, every third one, zeroes. */
static long count_wrong_thirds(const char *mem, unsigned char seed)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += is_zeroed(i) ? count_not_zero(mem + i * PAGE, PAGE) :
					!page_is(mem + i * PAGE, fill_byte(i, seed));
	return wrong;
}

TEST_LONG(split, zeroes)
{
	zero_thirds(self->mem);
	ASSERT_TRUE(write_text("/proc/self/clear_refs", "4"));
	for (long i = 0; i < PAGES; i += 2)
		WRITE_ONCE(self->mem[i * PAGE], self->mem[i * PAGE]);
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_TRUE(split_into(self->mem, LEN, PAGE / KIB));
	EXPECT_EQ(self->rss - count_zeroed() * (long)(PAGE / KIB),
		  smaps_kib(self->mem, LEN, "Rss"));
	EXPECT_EQ(0, count_wrong_thirds(self->mem, SEED));
	for (long i = 0; i < PAGES; i++)
		EXPECT_EQ(self->before[i] & PM_SOFT_DIRTY,
			  pagemap(self->mem + i * PAGE) & PM_SOFT_DIRTY);
	fill(self->mem, LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
	EXPECT_EQ(self->rss, smaps_kib(self->mem, LEN, "Rss"));
	EXPECT_TRUE(is_about(self->anon, cgroup_stat("anon")));
}

TEST_LONG(split, marks)
{
	int uffd = uffd_open(self->mem, LEN);

	ASSERT_LE(0, uffd);
	zero_thirds(self->mem);
	for (long i = 0; i < PAGES; i += 2)
		ASSERT_TRUE(uffd_protect(uffd, self->mem + i * PAGE, PAGE, true));
	ASSERT_TRUE(split_into(self->mem, LEN, PAGE / KIB));
	EXPECT_EQ(0, count_wrong_thirds(self->mem, SEED));
	for (long i = 0; i < PAGES; i++)
		ASSERT_EQ(!!(i % 2), try_write(self->mem + i * PAGE, fill_byte(i, SEED)));
	close(uffd);
}

/* A child that has what its parent had, whatever the parent writes meanwhile. */
static bool child_keeps(const char *mem, int go)
{
	char byte;

	CHECK(read(go, &byte, 1) == 1);
	CHECK_EQ(0, count_wrong_thirds(mem, SEED));
	return true;
}

static pid_t fork_keeper(const char *mem, int go[2])
{
	pid_t pid;

	if (pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(child_keeps(mem, go[0]) ? 0 : 1);
	}
	return pid;
}

TEST_LONG(split, shared)
{
	int go[2], status = -1;
	pid_t pid;

	zero_thirds(self->mem);
	pid = fork_keeper(self->mem, go);
	ASSERT_LT(0, pid);
	/* Some pages are the parent's own by now, and the child has the folio's. */
	for (long i = 0; i < PAGES; i += 5)
		memset(self->mem + i * PAGE, fill_byte(i, SEED + 1), PAGE);
	ASSERT_TRUE(split_into(self->mem, LEN, PAGE / KIB));
	for (long i = 0; i < PAGES; i++)
		EXPECT_TRUE(page_is(self->mem + i * PAGE, i % 5 == 0 ? fill_byte(i, SEED + 1) :
				    is_zeroed(i) ? 0 : fill_byte(i, SEED)));
	fill(self->mem, LEN, SEED + 2);
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 2));
}

TEST_LONG(split, lazyfree)
{
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	ASSERT_TRUE(split_all(self->mem, SEED));
	/* The first half is used again. */
	for (long i = 0; i < PAGES / 2; i++)
		self->mem[i * PAGE] = fill_byte(i, SEED);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(self->mem, LEN / 2, SEED));
	EXPECT_EQ(0, count_not_zero(self->mem + LEN / 2, LEN / 2));
}

TEST_LONG(split, half_there)
{
	long every = self->folio / PAGE;

	for (size_t at = 0; at < LEN; at += self->folio)
		ASSERT_EQ(0, madvise(self->mem + at, self->folio / 2, MADV_DONTNEED));
	ASSERT_TRUE(split_into(self->mem, LEN, PAGE / KIB));
	for (long i = 0; i < PAGES; i++)
		EXPECT_TRUE(page_is(self->mem + i * PAGE,
				    i % every < every / 2 ? 0 : fill_byte(i, SEED)));
	EXPECT_GE(self->rss / 2, smaps_kib(self->mem, LEN, "Rss"));
}

TEST_LONG(split, two_tables)
{
	char *to;

	/* The new place is half a folio off, so that each second table begins in a folio. */
	to = map_aligned(2 * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, to);
	to += PMD - self->folio / 2 / PAGE * PAGE;
	ASSERT_EQ(to, mremap(self->mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	self->mem = to;
	ASSERT_TRUE(split_all(self->mem, SEED));
	EXPECT_EQ(self->rss, smaps_kib(self->mem, LEN, "Rss"));
}

TEST_LONG(split, mlocked)
{
	long long locked = status_pages("VmLck");

	zero_thirds(self->mem);
	ASSERT_EQ(0, mlock(self->mem, LEN));
	EXPECT_TRUE(is_about(LEN, cgroup_stat("unevictable")));
	ASSERT_TRUE(split_into(self->mem, LEN, PAGE / KIB));
	EXPECT_EQ(0, count_wrong_thirds(self->mem, SEED));
	EXPECT_EQ(locked + PAGES, status_pages("VmLck"));
	EXPECT_TRUE(is_about(LEN, cgroup_stat("unevictable")));
	EXPECT_EQ(self->rss, smaps_kib(self->mem, LEN, "Rss"));
	madvise(self->mem, LEN, MADV_PAGEOUT);
	reclaim_all(LEN);
	EXPECT_EQ(PAGES, count_pages(self->mem, LEN, PM_PRESENT));
	ASSERT_EQ(0, munlock(self->mem, LEN));
	EXPECT_EQ(0, count_wrong_thirds(self->mem, SEED));
}

TEST_LONG(split, referenced)
{
	struct pin pin;

	ASSERT_TRUE(pin_open(&pin));
	for (size_t at = 0; at < LEN && at < 64 * self->folio; at += 2 * self->folio)
		ASSERT_TRUE(pin_page(&pin, self->mem + at + self->folio / 2));
	ASSERT_TRUE(split_into(self->mem, LEN, PAGE / KIB));
	EXPECT_TRUE(folios_are(self->mem, self->folio, variant->kib));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
	fill(self->mem, LEN, SEED + 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED + 1));
	unpin(&pin);
	ASSERT_TRUE(split_all(self->mem, SEED + 1));
}

TEST_HARNESS_MAIN
