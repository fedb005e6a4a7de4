// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anonymous memory that goes to swap and comes back.
 *
 * content           every byte comes back; no swap slot stays in use
 * runs              a folio is unmapped in one run (law 2)
 * marks             each page keeps its soft-dirty bit (where the architecture has one) and its
 *                   userfaultfd protection, in swap and after it (law 3)
 * uffd_rwp          the same for userfaultfd's read-write protection (Linux 7.3)
 * uffd_rwp_none     the same while the memory is PROT_NONE: entries then differ in nothing but
 *                   userfaultfd's bit
 * tags              memory tags come back (arm64)
 * exclusive         some pages of a run are shared with a child: afterwards each process
 *                   has its own pages (law 6)
 * many_processes    more processes than a swap count can hold: all keep the pages
 * stamped           a thread on another CPU reads what it stored last (law 1)
 * raced             against fork(), mprotect() and munmap() of neighbours
 * straddles_tables  a folio across two page tables; its neighbours stay (law 2)
 * holes             entries missing inside a folio stay missing (law 4)
 * two_vmas          a folio mapped through two VMAs is unmapped from both (law 2)
 * merged            pages that KSM has merged
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_mte.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define NEAR	(16 * PAGE)
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

#define RACE_LIMIT	300	/* seconds, until a race has met its case */

/* Swap slots that per-CPU caches may hold: free ones and freed ones. */
#define SLOT_SLACK	(2 * 64 * sysconf(_SC_NPROCESSORS_ONLN))

FIXTURE(swap) {
	size_t folio;
	char *mem;
	long long runs, entries, slots;
};

FIXTURE_VARIANT(swap) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(swap, 4);
SIZE_VARIANTS(swap, 64);
SIZE_VARIANTS(swap, 1024);
SIZE_VARIANTS(swap, 2048);

static long long swap_slots(void)
{
	return read_field("/proc/meminfo", "SwapFree:") / (long long)(PAGE / KIB);
}

FIXTURE_SETUP(swap)
{
	const char *missing = begin(variant->kib, variant->on);

	if (!missing && !swap_has_room(8 * LEN)) {
		missing = "needs swap with some room";
		end();
	}
	if (missing)
		SKIP(return, "%s", missing);
	self->folio = variant->kib * KIB;
	self->slots = swap_slots();
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
	fill(self->mem, LEN, 1);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	self->runs = unmap_stat("evict_runs");
	self->entries = unmap_stat("evict_entries");
}

FIXTURE_TEARDOWN(swap)
{
	end();
}

/*
 * Reclaim may need a second pass for pages that were just used.  MADV_PAGEOUT skips pages
 * that another process maps, too; memory.reclaim does not.
 */
static long page_out(char *mem, size_t len)
{
	for (int i = 0; i < 8 && count_pages(mem, len, PM_PRESENT); i++) {
		if (i < 2)
			madvise(mem, len, MADV_PAGEOUT);
		else
			reclaim_all(2 * LEN);
	}
	return count_pages(mem, len, PM_SWAP);
}

TEST_LONG(swap, content)
{
	for (unsigned char round = 1; round < 4; round++) {
		ASSERT_EQ(PAGES, page_out(self->mem, LEN));
		ASSERT_EQ(0, count_wrong(self->mem, LEN, round));
		fill(self->mem, LEN, round + 1);
	}
	ASSERT_EQ(PAGES, page_out(self->mem, LEN));
	munmap(self->mem, LEN);
	EXPECT_GE(SLOT_SLACK, self->slots - swap_slots());
}

/* Large folios of that size that were split because swap takes single pages only. */
static long long nr_split(unsigned long kib)
{
	return kib * KIB > PAGE ? folio_stat(kib, "swpout_fallback") : 0;
}

TEST_LONG(swap, runs)
{
	long long split = nr_split(variant->kib);

	ASSERT_EQ(PAGES, page_out(self->mem, LEN));
	if (!variant->on)
		SKIP(return, "nothing is counted while the switch is off");
	split = nr_split(variant->kib) - split;
	/* arm64 has THP_SWAP with pages of 4 KiB only. */
	EXPECT_TRUE(!split || PAGE != 4 * KIB);
	EXPECT_EQ(PAGES, unmap_stat("evict_entries") - self->entries);
	EXPECT_EQ((long)(LEN / self->folio) + split * (long)(self->folio / PAGE - 1),
		  unmap_stat("evict_runs") - self->runs);
}

static void check_marks(struct __test_metadata *_metadata, char *mem, bool soft_dirty)
{
	for (long i = 0; i < PAGES; i++) {
		__u64 entry = pagemap(mem + i * PAGE);

		if (soft_dirty)
			ASSERT_EQ(i % 7 == 0, !!(entry & PM_SOFT_DIRTY));
		ASSERT_EQ(i % 5 == 3, !!(entry & PM_UFFD_WP));
	}
}

TEST_LONG(swap, marks)
{
	int uffd = uffd_open(self->mem, LEN);
	bool soft_dirty = soft_dirty_works();

	if (uffd < 0)
		SKIP(return, "needs userfaultfd's write protection");
	/* Have PTEs map 2 MiB folios: a PMD has one mark for all pages. */
	ASSERT_EQ(0, mprotect(self->mem, PAGE, PROT_READ));
	ASSERT_EQ(0, mprotect(self->mem, PAGE, PROT_READ | PROT_WRITE));
	write_text("/proc/self/clear_refs", "4");
	for (long i = 0; i < PAGES; i += 7)
		self->mem[i * PAGE + 1] = 1;
	for (long i = 3; i < PAGES; i += 5)
		ASSERT_TRUE(uffd_protect(uffd, self->mem + i * PAGE, PAGE, true));
	check_marks(_metadata, self->mem, soft_dirty);
	ASSERT_EQ(PAGES, page_out(self->mem, LEN));
	check_marks(_metadata, self->mem, soft_dirty);
	for (long i = 0; i < PAGES; i++)
		READ_ONCE(self->mem[i * PAGE]);
	check_marks(_metadata, self->mem, soft_dirty);
	close(uffd);	/* and with it the protection */
	for (long i = 0; i < PAGES; i++)
		self->mem[i * PAGE + 1] = self->mem[i * PAGE];
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 1));
}

/* @prot: the memory's protection while it goes to swap. */
static void check_rwp(struct __test_metadata *_metadata, struct _test_data_swap *self,
		      bool on, int prot)
{
	int uffd = rwp_open(self->mem, LEN);
	long wrong = 0;

	if (uffd < 0)
		SKIP(return, "%s", RWP_MISSING);
	ASSERT_TRUE(rwp_arm(uffd, self->mem, LEN, true));
	ASSERT_EQ(0, mprotect(self->mem, LEN, prot));
	ASSERT_EQ(0, rwp_count_wrong(self->mem, LEN));
	/* MADV_PAGEOUT would split folios whose entries differ: reclaim them whole first. */
	write_text("/proc/self/clear_refs", "1");
	reclaim_all(2 * LEN);
	ASSERT_EQ(PAGES, page_out(self->mem, LEN));
	if (on && self->folio > PAGE)
		EXPECT_GT(PAGES / 4, unmap_stat("evict_runs") - self->runs);
	EXPECT_EQ(0, rwp_count_wrong(self->mem, LEN));
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ | PROT_WRITE));
	for (long i = 0; i < PAGES; i++)
		wrong += try_read(self->mem + i * PAGE) == rwp_is_armed(i);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, rwp_count_wrong(self->mem, LEN));
	ASSERT_TRUE(rwp_arm(uffd, self->mem, LEN, false));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 1));
	close(uffd);
}

TEST_LONG(swap, uffd_rwp)
{
	check_rwp(_metadata, self, variant->on, PROT_READ | PROT_WRITE);
}

TEST_LONG(swap, uffd_rwp_none)
{
	check_rwp(_metadata, self, variant->on, PROT_NONE);
}

/* Of a page's first and last granule. */
static unsigned long first_tag(long page)
{
	return page % 15 + 1;
}

static unsigned long last_tag(long page)
{
	return page / 15 % 15 + 1;
}

static long count_wrong_tags(const char *mem)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += mte_get(mem + i * PAGE) != first_tag(i) ||
			 mte_get(mem + (i + 1) * PAGE - 16) != last_tag(i);
	return wrong;
}

static bool set_tags(char *mem)
{
	if (mprotect(mem, LEN, PROT_READ | PROT_WRITE | PROT_TAGGED))
		return false;
	for (long i = 0; i < PAGES; i++) {
		mte_set(mem + i * PAGE, first_tag(i));
		mte_set(mem + (i + 1) * PAGE - 16, last_tag(i));
	}
	return !count_wrong_tags(mem);
}

TEST_LONG(swap, tags)
{
	if (!mte_works())
		SKIP(return, "needs memory tags (arm64 with CONFIG_ARM64_MTE)");
	ASSERT_TRUE(set_tags(self->mem));
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(PAGES, page_out(self->mem, LEN));
		EXPECT_EQ(0, count_wrong_tags(self->mem));
	}
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 1));
}

/* Pages that are shared with the child. */
static bool is_shared(long page)
{
	return page / 3 % 2;
}

static bool advise_pieces(char *mem, int advice)
{
	for (long i = 0; i < PAGES; i += 3)
		if (!is_shared(i) && madvise(mem + i * PAGE,
					     (PAGES - i < 3 ? PAGES - i : 3) * PAGE, advice))
			return false;
	return true;
}

static long count_wrong_shared(const char *mem, unsigned char seed)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += is_shared(i) && !page_is(mem + i * PAGE, fill_byte(i, seed));
	return wrong;
}

/* Start a child that waits until the pipe is closed and then checks the pages. */
static pid_t start_child(int *pipes, char *mem, bool shared_only)
{
	char token;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	close(pipes[1]);
	if (read(pipes[0], &token, 1))
		_exit(2);
	_exit(!!(shared_only ? count_wrong_shared(mem, 1) : count_wrong(mem, LEN, 1)));
}

static void let_go(struct __test_metadata *_metadata, int *pipes, int nr)
{
	int status;

	close(pipes[1]);
	while (nr--) {
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	close(pipes[0]);
}

TEST_LONG(swap, exclusive)
{
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_TRUE(advise_pieces(self->mem, MADV_DONTFORK));
	ASSERT_LT(0, start_child(pipes, self->mem, true));
	ASSERT_TRUE(advise_pieces(self->mem, MADV_DOFORK));
	/* Merge into one VMA, whose entries differ only in whether the child shares the page. */
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ));
	ASSERT_EQ(PAGES, page_out(self->mem, LEN));
	if (variant->on)
		EXPECT_LE(PAGES / 3, unmap_stat("evict_runs") - self->runs);
	for (long i = 0; i < PAGES; i++)
		READ_ONCE(self->mem[i * PAGE]);
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ | PROT_WRITE));
	fill(self->mem, LEN, 2);
	let_go(_metadata, pipes, 1);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 2));
}

#define CHILDREN	70	/* SWAP_MAP_MAX is 62 */

TEST_F_TIMEOUT(swap, many_processes, 120)
{
	int pipes[2];

	ASSERT_EQ(0, pipe(pipes));
	for (int i = 0; i < CHILDREN; i++)
		ASSERT_LT(0, start_child(pipes, self->mem, false));
	ASSERT_EQ(PAGES, page_out(self->mem, LEN));
	fill(self->mem, LEN, 2);
	page_out(self->mem, LEN);
	let_go(_metadata, pipes, CHILDREN);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 2));
	munmap(self->mem, LEN);
	EXPECT_GE(SLOT_SLACK, self->slots - swap_slots());
}

/* Pages that reclaim has evicted since boot; with the switch off, those that it has written. */
static long long nr_evicted(bool on)
{
	return on ? unmap_stat("evict_entries") : vmstat("pswpout");
}

struct stamper {
	char *mem;
	bool stop;
	long wrong, rounds;
};

static void *stamp(void *arg)
{
	struct stamper *stamper = arg;

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (; !READ_ONCE(stamper->stop); stamper->rounds++) {
		for (long i = 0; i < PAGES; i += 3) {
			long *at = (long *)(stamper->mem + i * PAGE);

			if (stamper->rounds && READ_ONCE(*at) != stamper->rounds - 1)
				stamper->wrong++;
			WRITE_ONCE(*at, stamper->rounds);
		}
		cpu_relax();
	}
	return NULL;
}

#define STAMPED		8	/* times that all is evicted, and rounds of the stamper */

/* Evict until all was stamped and evicted so often. */
static bool evict_stamped(const struct stamper *stamper, bool on)
{
	long long end = nr_evicted(on) + STAMPED * PAGES;
	double limit = now() + RACE_LIMIT;

	while (nr_evicted(on) < end || READ_ONCE(stamper->rounds) < STAMPED) {
		CHECK(now() < limit);
		madvise(stamper->mem, LEN, MADV_PAGEOUT);
	}
	return true;
}

TEST_LONG(swap, stamped)
{
	struct stamper stamper = { .mem = self->mem };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, stamp, &stamper));
	EXPECT_TRUE(evict_stamped(&stamper, variant->on));
	WRITE_ONCE(stamper.stop, true);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, stamper.wrong);
}

static void *page_out_for_ever(void *arg)
{
	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (;;) {
		madvise(arg, LEN, MADV_PAGEOUT);
		pthread_testcancel();
	}
	return NULL;
}

static bool change_something(char *mem, int turn)
{
	size_t at = (turn * 37 % PAGES) * PAGE, len = LEN - at < NEAR ? LEN - at : NEAR;
	pid_t child;
	int status;

	if (turn % 8)
		return !mprotect(mem + at, len, PROT_READ) &&
		       !mprotect(mem + at, len, PROT_READ | PROT_WRITE);
	child = fork();
	if (!child)
		_exit(munmap(mem + at, len) || count_wrong(mem, at, 1));
	return waitpid(child, &status, 0) == child && !status;
}

#define RACED		32	/* turns during which pages were evicted: each eighth one forks */

/*
 * Change memory until so many changes met an eviction.  All pages are touched now and then:
 * MADV_PAGEOUT splits a folio of which a part is mapped, but cannot while a fault looks at it.
 */
static bool change_evicted(char *mem, bool on)
{
	double limit = now() + RACE_LIMIT;

	for (int turn = 1, met = 0; met < RACED; turn++) {
		long long evicted = nr_evicted(on);

		CHECK(now() < limit);
		CHECK(change_something(mem, turn));
		memset(mem + turn % PAGES * PAGE, fill_byte(turn % PAGES, 1), PAGE);
		if (turn % 4 == 0)
			fill(mem, LEN, 1);
		cpu_relax();
		met += nr_evicted(on) > evicted;
	}
	return true;
}

TEST_LONG(swap, raced)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, page_out_for_ever, self->mem));
	EXPECT_TRUE(change_evicted(self->mem, variant->on));
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 1));
}

TEST_LONG(swap, straddles_tables)
{
	char *arena = map_aligned(2 * PMD, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	size_t len = self->folio < LEN ? self->folio : LEN / 2;
	char *to = arena + PMD - (self->folio == PAGE ? 1 : 3) * PAGE;

	ASSERT_NE(MAP_FAILED, arena);
	fill(to - NEAR, NEAR, 7);
	fill(to + len, NEAR, 8);
	ASSERT_EQ(to, mremap(self->mem, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to));
	ASSERT_EQ((long)(len / PAGE), page_out(to, len));
	EXPECT_EQ((long)(NEAR / PAGE), count_pages(to - NEAR, NEAR, PM_PRESENT));
	EXPECT_EQ((long)(NEAR / PAGE), count_pages(to + len, NEAR, PM_PRESENT));
	EXPECT_EQ(0, count_wrong(to, len, 1));
	EXPECT_EQ(0, count_wrong(to - NEAR, NEAR, 7));
	EXPECT_EQ(0, count_wrong(to + len, NEAR, 8));
}

TEST_LONG(swap, holes)
{
	long there;

	for (long i = 2; i < PAGES; i += 7)
		ASSERT_EQ(0, madvise(self->mem + i * PAGE, PAGE, MADV_DONTNEED));
	there = count_pages(self->mem, LEN, PM_PRESENT);
	ASSERT_EQ(there, page_out(self->mem, LEN));
	for (long i = 0; i < PAGES; i++)
		ASSERT_EQ(i % 7 != 2, !!pagemap(self->mem + i * PAGE) &&
			  !!(pagemap(self->mem + i * PAGE) & PM_SWAP));
	/* Reading one page may map its neighbours, too. */
	for (long i = 0; i < PAGES; i++)
		ASSERT_TRUE(page_is(self->mem + i * PAGE, i % 7 == 2 ? 0 : fill_byte(i, 1)));
}

TEST_LONG(swap, two_vmas)
{
	/* Cut each folio after its first page, in its middle, or before its last page. */
	for (size_t i = 0; i < LEN / self->folio; i++) {
		size_t cuts[] = { PAGE, self->folio / 2, self->folio - PAGE };

		ASSERT_EQ(0, mprotect(self->mem + i * self->folio, cuts[i % 3] & -PAGE,
				      PROT_READ));
	}
	reclaim_all(2 * LEN);
	ASSERT_EQ(PAGES, page_out(self->mem, LEN));
	EXPECT_EQ(0, count_wrong(self->mem, LEN, 1));
}

#define FULL_SCANS	"/sys/kernel/mm/ksm/full_scans"

/* KSM counts its scans from the boot on. */
static bool merge_all(char *mem)
{
	long long end = read_field(FULL_SCANS, "") + 4;
	double limit = now() + RACE_LIMIT;

	CHECK(write_text("/sys/kernel/mm/ksm/run", "1"));
	CHECK(!madvise(mem, LEN, MADV_MERGEABLE));
	CHECK(write_text("/sys/kernel/mm/ksm/pages_to_scan", "4096"));
	while (read_field(FULL_SCANS, "") < end ||
	       read_field("/sys/kernel/mm/ksm/pages_sharing", "") <= 0) {
		CHECK(now() < limit);
		usleep(10000);
	}
	return true;
}

TEST_LONG(swap, merged)
{
	bool merged;

	for (long i = 0; i < PAGES; i++)
		memset(self->mem + i * PAGE, 1 + i % 4, PAGE);
	if (access(FULL_SCANS, R_OK))
		SKIP(return, "needs CONFIG_KSM");
	merged = merge_all(self->mem);
	write_text("/sys/kernel/mm/ksm/run", "0");
	ASSERT_TRUE(merged);
	reclaim_all(2 * LEN);
	page_out(self->mem, LEN);
	for (long i = 0; i < PAGES; i++)
		ASSERT_TRUE(page_is(self->mem + i * PAGE, 1 + i % 4));
	for (long i = 0; i < PAGES; i += 4)
		self->mem[i * PAGE] = 9;
	for (long i = 1; i < PAGES; i++)
		if (i % 4)
			ASSERT_TRUE(page_is(self->mem + i * PAGE, 1 + i % 4));
}

TEST_HARNESS_MAIN
