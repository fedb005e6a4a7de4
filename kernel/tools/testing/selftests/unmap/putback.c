// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run that cannot be unmapped is put back exactly (law 3).  Unmapping a lazyfree folio
 * fails if a pipe holds an extra reference, or if a page was written again.
 *
 * extra_reference    the folio stays lazyfree: without the reference it is freed,
 *                    not swapped (bug 6)
 * all_referenced     the same when every folio fails
 * soft_dirty         a referenced folio's pages keep their soft-dirty bits (bug 3)
 * soft_dirty_redirty the same where the run fails because a page was written (bug 3)
 * uffd_wp            each page keeps its write protection, in pagemap and for writes (bug 4)
 * uffd_rwp           the same for userfaultfd's read-write protection (Linux 7.3)
 * uffd_rwp_none      the same while the memory is PROT_NONE: entries then differ in nothing
 *                    but userfaultfd's bit
 * no_write_upgrade*  pages shared with a child stay read-only for the parent, where the
 *                    second half, the first half, or every other page is shared (bug 2)
 * droppable          a referenced droppable folio stays, with its data (law 5)
 */
#define _GNU_SOURCE
#include <linux/mman.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE	0x08
#endif

FIXTURE(putback) {
	size_t folio;
	char *mem;
	struct pin pin;
	long long freed, swapped, runs, entries;
	__u64 before[LEN / PAGE];
};

FIXTURE_VARIANT(putback) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(putback, 4);
SIZE_VARIANTS(putback, 64);
SIZE_VARIANTS(putback, 1024);

FIXTURE_SETUP(putback)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	self->folio = variant->kib * KIB;
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
	fill(self->mem, LEN, 1);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	ASSERT_TRUE(pin_open(&self->pin));
	self->runs = unmap_stat("put_back_runs");
	self->entries = unmap_stat("put_back_entries");
}

FIXTURE_TEARDOWN(putback)
{
	unpin(&self->pin);
	end();
}

/* One page of every @every'th folio gets an extra reference. */
static bool pin_folios(struct pin *pin, const char *mem, size_t folio, int every)
{
	for (size_t i = 0; i < LEN / folio && i < 128; i += every)
		if (!pin_page(pin, mem + i * folio + (i * PAGE) % folio))
			return false;
	return true;
}

/* Present pages whose bits differ from before. */
static long count_changed(const __u64 *before, const char *mem, __u64 bits)
{
	__u64 after[LEN / PAGE];
	long changed = 0;

	pagemap_range(mem, after, PAGES);
	for (long i = 0; i < PAGES; i++)
		changed += (after[i] & PM_PRESENT) && ((before[i] ^ after[i]) & bits);
	return changed;
}

/*
 * A lazyfree folio with extra references stays one.  Linux 6.12 marks it as swap-backed, and
 * writes it to swap later.
 */
static bool stays_lazyfree(bool on)
{
	return on || !kernel_before(6, 18);
}

/*
 * Without this the other checks would prove nothing.  Switched on, the counters tell that
 * a run was put back.
 */
static bool was_put_back(const char *page, bool on, long long runs, long long entries)
{
	if (!on)
		return (pagemap(page) & PM_PRESENT) &&
		       !(page_flags(page) & PAGE_SWAPBACKED) == stays_lazyfree(on);
	return unmap_stat("put_back_runs") > runs && unmap_stat("put_back_entries") > entries;
}

static void check_extra_reference(struct __test_metadata *_metadata,
				  struct _test_data_putback *self, bool on, int every)
{
	long pinned;

	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	ASSERT_TRUE(pin_folios(&self->pin, self->mem, self->folio, every));
	self->freed = vmstat("pglazyfreed");
	self->swapped = vmstat("pswpout");
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	ASSERT_TRUE(was_put_back(self->mem, on, self->runs, self->entries));
	pinned = count_pages(self->mem, LEN, PM_PRESENT);
	EXPECT_EQ(PAGES - pinned, vmstat("pglazyfreed") - self->freed);
	if (stays_lazyfree(on)) {
		EXPECT_FALSE(!!(page_flags(self->mem) & PAGE_SWAPBACKED));
		unpin(&self->pin);
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
		EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT | PM_SWAP));
		EXPECT_EQ(PAGES, vmstat("pglazyfreed") - self->freed);
		EXPECT_EQ(0, vmstat("pswpout") - self->swapped);
		EXPECT_EQ(0, count_not_zero(self->mem, LEN));
		ASSERT_TRUE(pin_open(&self->pin));
		return;
	}
	/* Stock code makes the folio swap-backed again: its data must be intact then. */
	EXPECT_EQ(0, count_wrong(self->mem, self->folio, 1));
}

TEST_LONG(putback, extra_reference)
{
	check_extra_reference(_metadata, self, variant->on, 3);
}

TEST_LONG(putback, all_referenced)
{
	check_extra_reference(_metadata, self, variant->on, 1);
}

/* Clear soft-dirty everywhere, then set it on every @every'th page. */
static void make_soft_dirty(char *mem, int every)
{
	write_text("/proc/self/clear_refs", "4");
	for (long i = 0; i < PAGES; i += every)
		memset(mem + i * PAGE, fill_byte(i, 1), PAGE);
}

TEST_LONG(putback, soft_dirty)
{
	if (!soft_dirty_works())
		SKIP(return, "no soft-dirty tracking (CONFIG_MEM_SOFT_DIRTY)");
	make_soft_dirty(self->mem, 2);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	ASSERT_TRUE(pin_folios(&self->pin, self->mem, self->folio, 1));
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_EQ(PAGES / 2, count_pages(self->mem, LEN, PM_SOFT_DIRTY));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	ASSERT_TRUE(was_put_back(self->mem, variant->on, self->runs, self->entries));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_SOFT_DIRTY));
}

TEST_LONG(putback, soft_dirty_redirty)
{
	if (!soft_dirty_works())
		SKIP(return, "no soft-dirty tracking (CONFIG_MEM_SOFT_DIRTY)");
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	make_soft_dirty(self->mem, 3);
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	for (long i = 0; i < PAGES; i += 3)
		ASSERT_TRUE(page_is(self->mem + i * PAGE, fill_byte(i, 1)));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_SOFT_DIRTY));
}

/* Write to every page: a write must raise a signal if the page is armed, and only then. */
static long count_wrong_faults(char *mem, const bool *armed)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += try_write(mem + i * PAGE, 9) == armed[i];
	return wrong;
}

TEST_LONG(putback, uffd_wp)
{
	bool armed[LEN / PAGE] = { false };
	int uffd = uffd_open(self->mem, LEN);

	if (uffd < 0)
		SKIP(return, "no userfaultfd write protection");
	for (long i = 0; i < PAGES; i += 2) {
		armed[i] = true;
		ASSERT_TRUE(uffd_protect(uffd, self->mem + i * PAGE, PAGE, true));
	}
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	ASSERT_TRUE(pin_folios(&self->pin, self->mem, self->folio, 1));
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_EQ(PAGES / 2, count_pages(self->mem, LEN, PM_UFFD_WP));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	ASSERT_TRUE(was_put_back(self->mem, variant->on, self->runs, self->entries));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_UFFD_WP));
	pagemap_range(self->mem, self->before, PAGES);
	for (long i = 0; i < PAGES; i++)	/* order 0: pages without a reference are gone */
		armed[i] &= !!(self->before[i] & PM_PRESENT);
	EXPECT_EQ(0, count_wrong_faults(self->mem, armed));
	close(uffd);
}

/* @prot: the memory's protection while it is reclaimed. */
static void check_rwp(struct __test_metadata *_metadata, struct _test_data_putback *self,
		      bool on, int prot)
{
	int uffd = rwp_open(self->mem, LEN);
	bool armed[LEN / PAGE];

	if (uffd < 0)
		SKIP(return, "%s", RWP_MISSING);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_FREE));
	ASSERT_TRUE(pin_folios(&self->pin, self->mem, self->folio, 1));
	ASSERT_TRUE(rwp_arm(uffd, self->mem, LEN, true));
	ASSERT_EQ(0, mprotect(self->mem, LEN, prot));
	pagemap_range(self->mem, self->before, PAGES);
	ASSERT_EQ(0, rwp_count_wrong(self->mem, LEN));
	/* MADV_PAGEOUT passes over pinned folios whose entries differ. */
	reclaim_file(2 * LEN);
	ASSERT_TRUE(was_put_back(self->mem, on, self->runs, self->entries));
	EXPECT_EQ(0, count_changed(self->before, self->mem, PM_UFFD_WP));
	for (long i = 0; i < PAGES; i++)
		armed[i] = rwp_is_armed(i) && (pagemap(self->mem + i * PAGE) & PM_PRESENT);
	ASSERT_EQ(0, mprotect(self->mem, LEN, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, count_wrong_faults(self->mem, armed));
	close(uffd);
}

TEST_LONG(putback, uffd_rwp)
{
	check_rwp(_metadata, self, variant->on, PROT_READ | PROT_WRITE);
}

TEST_LONG(putback, uffd_rwp_none)
{
	check_rwp(_metadata, self, variant->on, PROT_NONE);
}

/* Which pages the child of no_write_upgrade is kept from sharing. */
enum pattern { FIRST_HALF, SECOND_HALF, ALTERNATE };

static bool is_private(enum pattern pattern, size_t page, size_t folio_pages)
{
	size_t index = page % folio_pages;

	switch (pattern) {
	case FIRST_HALF:
		return index < folio_pages / 2;
	case SECOND_HALF:
		return index >= folio_pages / 2;
	default:
		return index & 1;
	}
}

static bool advise_private(char *mem, enum pattern pattern, size_t folio, int advice)
{
	for (size_t i = 0; i < 2 * folio / PAGE; i++)
		if (is_private(pattern, i, folio / PAGE) &&
		    madvise(mem + i * PAGE, PAGE, advice))
			return false;
	return true;
}

/* The child: wait for the parent to finish, then look at what is shared. */
static int check_shared(const char *mem, enum pattern pattern, size_t folio, int wait_fd)
{
	char token;

	if (read(wait_fd, &token, 1))
		return 2;
	for (size_t i = 0; i < 2 * folio / PAGE; i++)
		if (!is_private(pattern, i, folio / PAGE) &&
		    !page_is(mem + i * PAGE, fill_byte(i, 1)))
			return 1;
	return 0;
}

static void check_no_upgrade(struct __test_metadata *_metadata,
			     struct _test_data_putback *self, bool on, enum pattern pattern)
{
	const size_t len = 2 * self->folio;
	int pipes[2], status;
	pid_t child;

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, madvise(self->mem, len, MADV_FREE));
	ASSERT_TRUE(advise_private(self->mem, pattern, self->folio, MADV_DONTFORK));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		close(pipes[1]);
		_exit(check_shared(self->mem, pattern, self->folio, pipes[0]));
	}
	/* Merge into one VMA, of which some pages are private and writable, the others neither. */
	ASSERT_TRUE(advise_private(self->mem, pattern, self->folio, MADV_DOFORK));
	ASSERT_TRUE(pin_page(&self->pin, self->mem + PAGE));
	ASSERT_TRUE(pin_page(&self->pin, self->mem + len - PAGE));
	reclaim_file(LEN);
	ASSERT_TRUE(was_put_back(self->mem + PAGE, on, self->runs, self->entries));
	ASSERT_TRUE(!!(pagemap(self->mem + PAGE) & PM_PRESENT));
	fill(self->mem, len, 5);
	close(pipes[1]);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, count_wrong(self->mem, len, 5));
}

TEST_LONG(putback, no_write_upgrade)
{
	if (self->folio == PAGE)
		SKIP(return, "a single page is either shared or not");
	check_no_upgrade(_metadata, self, variant->on, FIRST_HALF);
}

TEST_LONG(putback, no_write_upgrade_second_half)
{
	if (self->folio == PAGE)
		SKIP(return, "a single page is either shared or not");
	check_no_upgrade(_metadata, self, variant->on, SECOND_HALF);
}

TEST_LONG(putback, no_write_upgrade_alternate)
{
	if (self->folio == PAGE)
		SKIP(return, "a single page is either shared or not");
	check_no_upgrade(_metadata, self, variant->on, ALTERNATE);
}

TEST_LONG(putback, droppable)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_DROPPABLE | MAP_ANONYMOUS, -1);

	if (mem == MAP_FAILED)
		SKIP(return, "no MAP_DROPPABLE");
	fill(mem, LEN, 2);
	ASSERT_TRUE(pin_folios(&self->pin, mem, self->folio, 1));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_wrong(mem, 128 * PAGE, 2));
	EXPECT_FALSE(!!(page_flags(mem) & PAGE_SWAPBACKED));
	if (variant->on)
		EXPECT_LT(self->runs, unmap_stat("put_back_runs"));
}

TEST_HARNESS_MAIN
