// SPDX-License-Identifier: GPL-2.0-only
/*
 * What reclaim learns from accessed bits (law 12): the same with the switch off and on, for
 * classic LRU and MGLRU.  In each test every other folio is used through some of its pages.
 *
 * runs       entries are looked at in runs with the switch on, and only then
 * kept       folios that were used stay, whichever page was used; others are reclaimed
 * aged       used folios age when they are looked at: unused since, they are reclaimed
 * verdicts   whatever pages were used, the same folios stay, referenced and active as with the
 *            switch off: files, shmem, anonymous memory
 * shared     the same where two VMAs map the folios, both used, or one
 * unaligned  the same where folios lie across two page tables and the ends of the VMA
 * forked     the same for anonymous memory of two processes
 * sequential use through a VMA that is read sequentially does not count
 * mlocked    use through mlocked parts of folios does not count, and they stay
 * idle       page idle tracking: looking at a used folio ends its idleness, no other's
 * noted      page idle tracking took the accessed bits: the folios were used all the same
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define SEED	3
#define STEPS	3	/* reclaim so often, and look at the folios after each */
#define SLOW	180	/* seconds: many scenes, in a kernel that checks everything */
#define FEW	8	/* pages that differ by chance */
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

/* Bits of /proc/kpageflags. */
#define REFERENCED	BIT_ULL(2)
#define ACTIVE		BIT_ULL(6)
#define IDLE		BIT_ULL(25)

#define LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"
#define IDLE_BITMAP	"/sys/kernel/mm/page_idle/bitmap"

enum kind { PAGE_CACHE, SHMEM, ANON };
enum pattern { NO_PAGE, FIRST, SECOND, LAST, TWO, EVERY_OTHER, ALL };

/* What reclaim made of the folios: which pages are mapped, and the flags of each folio. */
struct look {
	bool mapped[STEPS][LEN / PAGE];
	__u64 flags[STEPS][LEN / PAGE];
};

FIXTURE(reference) {
	char lru_gen[16];
	size_t folio;
	int fd;
	char *mem;
	long chance;	/* pages that differed with the switch off twice, when it was asked last */
};

FIXTURE_VARIANT(reference) {
	unsigned long kib;
	const char *lru_gen;
};

#define VARIANTS(size) \
	FIXTURE_VARIANT_ADD(reference, size ## K_classic) { \
		.kib = FOLIO_KIB(size), .lru_gen = "0" }; \
	FIXTURE_VARIANT_ADD(reference, size ## K_mglru) { \
		.kib = FOLIO_KIB(size), .lru_gen = "7" }

VARIANTS(4);
VARIANTS(64);
VARIANTS(1024);

FIXTURE_SETUP(reference)
{
	const char *missing;

	self->fd = -1;
	self->folio = variant->kib * KIB;
	if (!read_text(LRU_GEN, self->lru_gen, sizeof(self->lru_gen)) && *variant->lru_gen != '0')
		SKIP(return, "no MGLRU (CONFIG_LRU_GEN)");
	missing = begin(variant->kib, true);
	if (missing)
		SKIP(return, "%s", missing);
	write_text(LRU_GEN, variant->lru_gen);
}

FIXTURE_TEARDOWN(reference)
{
	write_text(LRU_GEN, self->lru_gen);
	if (self->fd >= 0)
		close(self->fd);
	end();
}

/* A folio of one page is used or is not. */
static enum pattern last_pattern(size_t folio)
{
	return folio == PAGE ? FIRST : ALL;
}

static bool is_mglru(const char *lru_gen)
{
	return *lru_gen != '0';
}

/* Whether the folio's @i-th page of @nr is used. */
static bool is_used(enum pattern pattern, size_t i, size_t nr)
{
	switch (pattern) {
	case FIRST:
		return !i;
	case SECOND:
		return i == 1 % nr;
	case LAST:
		return i == nr - 1;
	case TWO:	/* in large folios farther apart than MGLRU looks around */
		return i == 3 % nr || i == nr - 2;
	case EVERY_OTHER:
		return i % 2;
	case ALL:
		return true;
	default:
		return false;
	}
}

/* One folio in each @stride bytes is used. */
static bool is_used_folio(const char *mem, const char *page, size_t folio, size_t stride)
{
	return (page - mem) % stride < folio;
}

static void touch(const char *mem, size_t len)
{
	for (size_t i = 0; i < len; i += PAGE)
		READ_ONCE(mem[i]);
}

static void use_one_in(size_t stride, const char *mem, size_t folio, enum pattern pattern)
{
	for (size_t i = 0; i < LEN; i += PAGE)
		if (is_used_folio(mem, mem + i, folio, stride) &&
		    is_used(pattern, i % folio / PAGE, folio / PAGE))
			READ_ONCE(mem[i]);
}

static void use(const char *mem, size_t folio, enum pattern pattern)
{
	use_one_in(2 * folio, mem, folio, pattern);
}

/*
 * Clear the accessed bits.  x86 does so without a flush, and a processor that still has a
 * translation sets no bit again: take away all access for a moment, which flushes.
 */
static void forget(char *mem, size_t len, int prot)
{
	write_text("/proc/self/clear_refs", "1");
	mprotect(mem, len, PROT_NONE);
	mprotect(mem, len, prot);
}

/* What the machine lacks for this kind of memory, or NULL. */
static const char *lacks(enum kind kind)
{
	int fd;

	if (kind != PAGE_CACHE)
		return swap_is_on() ? NULL : "no swap";
	fd = xfs_file(PAGE, SEED, 4);
	if (fd < 0)
		return "no XFS at /mnt";
	close(fd);
	return NULL;
}

static bool make_file(struct _test_data_reference *self, enum kind kind)
{
	char *mem;

	self->fd = -1;
	if (kind == ANON)
		return true;
	if (kind == PAGE_CACHE) {
		self->fd = xfs_file(LEN, SEED, self->folio / KIB);
		return self->fd >= 0;
	}
	self->fd = memfd_create("unmap", MFD_CLOEXEC);
	if (self->fd < 0 || ftruncate(self->fd, LEN))
		return false;
	mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd);
	fill(mem, LEN, SEED);
	write_text("/proc/self/clear_refs", "1");
	munmap(mem, LEN);
	return true;
}

/* LEN bytes, mapped and not used since. */
static bool make(struct _test_data_reference *self, enum kind kind)
{
	if (!make_file(self, kind))
		return false;
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE,
				kind == ANON ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, self->fd);
	if (kind == ANON)
		fill(self->mem, LEN, SEED);
	touch(self->mem, LEN);
	forget(self->mem, LEN, PROT_READ | PROT_WRITE);
	return folios_are(self->mem, LEN, self->folio / KIB);
}

static void unmake(struct _test_data_reference *self)
{
	munmap(self->mem, LEN);
	if (self->fd >= 0)
		close(self->fd);
	self->fd = -1;
}

/* The unused folios are half of the memory: half of these. */
static void reclaim_some(enum kind kind)
{
	if (kind == PAGE_CACHE)
		reclaim_file(LEN / 4);
	else
		reclaim_anon(LEN / 4);
}

static void look(struct look *look, const char *mem, size_t folio, int step)
{
	__u64 entries[LEN / PAGE];

	pagemap_range(mem, entries, PAGES);
	for (long i = 0; i < PAGES; i++) {
		look->mapped[step][i] = entries[i] & PM_PRESENT;
		if (i * PAGE % folio == 0)
			look->flags[step][i] = page_flags(mem + i * PAGE) & (REFERENCED | ACTIVE);
	}
}

static void reclaim_and_look(struct look *seen, const char *mem, size_t folio, enum kind kind)
{
	memset(seen, 0, sizeof(*seen));
	for (int step = 0; step < STEPS; step++) {
		reclaim_some(kind);
		look(seen, mem, folio, step);
	}
}

/* Every scene has a control group, and with it LRU lists, of its own. */
static bool begin_scene(bool on)
{
	cgroup_leave();
	return cgroup_enter() && switch_all(on);
}

/* A scene makes memory of the kind, uses it, reclaims, and looks. */
typedef bool (*scene_fn)(struct _test_data_reference *self, enum kind kind, enum pattern pattern,
			 struct look *seen);

static bool differ(const struct look *a, const struct look *b, int step, long i)
{
	return a->mapped[step][i] != b->mapped[step][i] || a->flags[step][i] != b->flags[step][i];
}

/* Pages that reclaim treats otherwise with the switch on. */
static long count_different(const struct look *off, const struct look *on)
{
	long different = 0;

	for (int step = 0; step < STEPS; step++)
		for (long i = 0; i < PAGES; i++)
			different += differ(off, on, step, i);
	return different;
}

/* Reclaim stops when it has enough: a few folios more or less are chance. */
static long few(const struct _test_data_reference *self)
{
	long pages = self->folio / PAGE;

	return FEW + (pages < 64 ? FEW / 2 * pages : FEW * FEW);
}

static bool run_scene(struct _test_data_reference *self, scene_fn scene, enum kind kind,
		      enum pattern pattern, bool on, struct look *seen)
{
	return begin_scene(on) && scene(self, kind, pattern, seen);
}

/*
 * One scene, off and on.  Returns how many pages differ, or -1.  What a scene touches first, and
 * when statistics are flushed, moves the point where reclaim stops: a fault of ours differs from
 * a second scene, too.
 */
static long compare_scene(struct _test_data_reference *self, scene_fn scene, enum kind kind,
			  enum pattern pattern)
{
	static struct look off, on, again;
	long different;

	if (!run_scene(self, scene, kind, pattern, false, &off) ||
	    !run_scene(self, scene, kind, pattern, true, &on))
		return -1;
	different = count_different(&off, &on);
	if (different <= few(self))
		return different;
	if (!run_scene(self, scene, kind, pattern, false, &again))
		return -1;
	self->chance = count_different(&off, &again);
	return MIN(different, count_different(&again, &on));
}

static void compare(struct __test_metadata *_metadata, struct _test_data_reference *self,
		    scene_fn scene, enum kind kind)
{
	const char *missing = lacks(kind);

	if (missing)
		SKIP(return, "%s", missing);
	for (enum pattern pattern = NO_PAGE; pattern <= last_pattern(self->folio); pattern++) {
		long different = compare_scene(self, scene, kind, pattern);

		ASSERT_LE(0, different);
		EXPECT_GE(few(self), different) {
			TH_LOG("kind %d, pattern %d, without the switch %ld", kind, pattern,
			       self->chance);
		}
	}
}

static bool plain_scene(struct _test_data_reference *self, enum kind kind, enum pattern pattern,
			struct look *seen)
{
	if (!make(self, kind))
		return false;
	use(self->mem, self->folio, pattern);
	reclaim_and_look(seen, self->mem, self->folio, kind);
	unmake(self);
	return true;
}

TEST_F_TIMEOUT(reference, verdicts, SLOW)
{
	for (enum kind kind = PAGE_CACHE; kind <= ANON; kind++)
		compare(_metadata, self, plain_scene, kind);
}

/* The second VMA is used through every page of every fourth folio. */
static bool shared_scene(struct _test_data_reference *self, enum kind kind, enum pattern pattern,
			 struct look *seen)
{
	char *twin;

	if (!make(self, kind))
		return false;
	twin = map_aligned(LEN, PROT_READ, MAP_SHARED, self->fd);
	touch(twin, LEN);
	forget(twin, LEN, PROT_READ);
	use(self->mem, self->folio, pattern);
	for (size_t i = 0; i < LEN; i += 4 * self->folio)
		touch(twin + i, self->folio);
	reclaim_and_look(seen, self->mem, self->folio, kind);
	munmap(twin, LEN);
	unmake(self);
	return true;
}

TEST_F_TIMEOUT(reference, shared, SLOW)
{
	compare(_metadata, self, shared_scene, PAGE_CACHE);
}

/* The mapping begins inside a folio, and folios lie across the end of a page table. */
static bool unaligned_scene(struct _test_data_reference *self, enum kind kind,
			    enum pattern pattern, struct look *seen)
{
	char *arena, *mem;

	if (!make(self, kind))
		return false;
	arena = map_aligned(LEN + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	mem = mmap(arena + 5 * PAGE, LEN - 3 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, self->fd,
		   3 * PAGE);
	munmap(self->mem, LEN);
	touch(mem, LEN - 3 * PAGE);
	forget(mem, LEN - 3 * PAGE, PROT_READ);
	for (size_t i = 0; i < LEN - 3 * PAGE; i += PAGE)
		if (i / (3 * self->folio) % 2 && is_used(pattern, i / PAGE % 16, 16))
			READ_ONCE(mem[i]);
	reclaim_and_look(seen, mem, PAGE, kind);
	munmap(arena, LEN + PMD);
	self->mem = arena;
	unmake(self);
	return true;
}

TEST_F_TIMEOUT(reference, unaligned, SLOW)
{
	compare(_metadata, self, unaligned_scene, PAGE_CACHE);
}

/* The child has old entries for all pages, and uses those of the pattern; the parent none. */
static bool forked_scene(struct _test_data_reference *self, enum kind kind, enum pattern pattern,
			 struct look *seen)
{
	int ready[2], go[2];
	char token = 0;
	pid_t child;

	if (!make(self, kind) || pipe(ready) || pipe(go))
		return false;
	child = fork();
	if (!child) {
		close(go[1]);
		use(self->mem, self->folio, pattern);
		_exit(write(ready[1], &token, 1) != 1 || read(go[0], &token, 1) < 0);
	}
	if (child < 0 || read(ready[0], &token, 1) != 1)
		return false;
	reclaim_and_look(seen, self->mem, self->folio, kind);
	close(go[1]);
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
	waitpid(child, NULL, 0);
	unmake(self);
	return true;
}

TEST_F_TIMEOUT(reference, forked, SLOW)
{
	compare(_metadata, self, forked_scene, ANON);
}

/* Folios that are used (@used), or not, of which at least a page is mapped. */
static long count_folios(struct _test_data_reference *self, size_t stride, bool used)
{
	long found = 0;

	for (size_t i = 0; i < LEN; i += self->folio)
		if (is_used_folio(self->mem, self->mem + i, self->folio, stride) == used)
			found += !!count_pages(self->mem + i, self->folio, PM_PRESENT);
	return found;
}

/*
 * MGLRU takes the accessed bits of up to 64 entries around one that it looks at.  Since 6.18 a page
 * that was used once and lost its bit so is evicted: used folios are out of each other's reach.
 */
static size_t stride_of(const struct _test_data_reference *self, const char *lru_gen)
{
	return is_mglru(lru_gen) && !kernel_before(6, 18) ? MAX(2 * self->folio, 64UL * PAGE) :
							     2 * self->folio;
}

static void check_kept(struct __test_metadata *_metadata, struct _test_data_reference *self,
		       size_t stride, enum pattern pattern)
{
	const long all = LEN / self->folio, used = LEN / stride;

	ASSERT_TRUE(make(self, PAGE_CACHE));
	use_one_in(stride, self->mem, self->folio, pattern);
	reclaim_some(PAGE_CACHE);
	EXPECT_EQ(used, count_folios(self, stride, true)) {
		TH_LOG("pattern %d", pattern);
	}
	EXPECT_GT(all - used, count_folios(self, stride, false));
	unmake(self);
}

TEST_F_TIMEOUT(reference, kept, SLOW)
{
	if (lacks(PAGE_CACHE))
		SKIP(return, "no XFS at /mnt");
	for (enum pattern pattern = FIRST; pattern <= last_pattern(self->folio); pattern++)
		for (int on = 0; on < 2; on++) {
			ASSERT_TRUE(begin_scene(on));
			check_kept(_metadata, self, stride_of(self, variant->lru_gen), pattern);
		}
}

TEST_F_TIMEOUT(reference, aged, SLOW)
{
	if (lacks(PAGE_CACHE))
		SKIP(return, "no XFS at /mnt");
	for (enum pattern pattern = FIRST; pattern <= last_pattern(self->folio); pattern++)
		for (int on = 0; on < 2; on++) {
			ASSERT_TRUE(begin_scene(on));
			ASSERT_TRUE(make(self, PAGE_CACHE));
			use(self->mem, self->folio, pattern);
			for (int i = 0; i < 2 * STEPS; i++)
				reclaim_file(LEN);
			EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT));
			EXPECT_EQ(0, count_wrong(self->mem, LEN, SEED));
			unmake(self);
		}
}

TEST_LONG(reference, runs)
{
	long long runs = unmap_stat("aged_runs"), entries = unmap_stat("aged_entries");

	if (runs < 0)
		SKIP(return, "the kernel has no such counters");
	if (lacks(PAGE_CACHE) || !kernel_before(7, 0))
		SKIP(return, "no XFS at /mnt, or a kernel with batches of its own");
	ASSERT_TRUE(begin_scene(false));
	ASSERT_TRUE(make(self, PAGE_CACHE));
	reclaim_file(LEN / 2);
	EXPECT_EQ(runs, unmap_stat("aged_runs"));
	ASSERT_TRUE(switch_all(true));
	reclaim_file(LEN / 4);
	runs = unmap_stat("aged_runs") - runs;
	entries = unmap_stat("aged_entries") - entries;
	if (self->folio == PAGE) {
		EXPECT_EQ(0, runs);
	} else {
		EXPECT_LT(0, runs);
		EXPECT_EQ(runs * (long long)(self->folio / PAGE), entries);
	}
	unmake(self);
}

TEST_LONG(reference, sequential)
{
	if (lacks(PAGE_CACHE))
		SKIP(return, "no XFS at /mnt");
	for (int on = 0; on < 2; on++) {
		ASSERT_TRUE(begin_scene(on));
		ASSERT_TRUE(make(self, PAGE_CACHE));
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_SEQUENTIAL));
		for (int i = 0; i < STEPS; i++) {
			touch(self->mem, LEN);
			forget(self->mem, LEN, PROT_READ | PROT_WRITE);
		}
		touch(self->mem, LEN);
		reclaim_file(LEN);
		EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT));
		unmake(self);
	}
}

/* The first half of each folio is mlocked: the folio is not, because its VMA ends inside. */
static bool mlocked_scene(struct _test_data_reference *self, enum kind kind,
			  enum pattern pattern, struct look *seen)
{
	if (!make(self, kind))
		return false;
	for (size_t i = 0; i < LEN; i += self->folio)
		if (mlock(self->mem + i, self->folio == PAGE ? PAGE : self->folio / 2))
			return false;
	forget(self->mem, LEN, PROT_READ | PROT_WRITE);
	use(self->mem, self->folio, pattern);
	reclaim_and_look(seen, self->mem, self->folio, kind);
	unmake(self);
	return true;
}

TEST_F_TIMEOUT(reference, mlocked, SLOW)
{
	compare(_metadata, self, mlocked_scene, PAGE_CACHE);
}

/* Tell page idle tracking that all of these pages are idle. */
static bool make_idle(const char *mem)
{
	const __u64 all = ~0ULL;
	__u64 entries[LEN / PAGE];
	int fd = open(IDLE_BITMAP, O_WRONLY);
	bool done = fd >= 0;

	pagemap_range(mem, entries, PAGES);
	for (long i = 0; done && i < PAGES; i++)
		done = pwrite(fd, &all, 8, PAGEMAP_PFN(entries[i]) / 64 * 8) == 8;
	if (fd >= 0)
		close(fd);
	return done;
}

static long count_idle(struct _test_data_reference *self, bool used)
{
	long found = 0;

	for (size_t i = 0; i < LEN; i += self->folio)
		if (is_used_folio(self->mem, self->mem + i, self->folio, 2 * self->folio) == used)
			found += !!(page_flags(self->mem + i) & IDLE);
	return found;
}

static void check_idle(struct __test_metadata *_metadata, struct _test_data_reference *self,
		       enum pattern pattern)
{
	const long half = LEN / self->folio / 2;

	ASSERT_TRUE(make(self, PAGE_CACHE));
	ASSERT_TRUE(make_idle(self->mem));
	use(self->mem, self->folio, pattern);
	ASSERT_EQ(half, count_idle(self, true));
	reclaim_file(LEN / 8);
	EXPECT_EQ(count_folios(self, 2 * self->folio, false), count_idle(self, false));
	/* Reclaim comes to the used folios before it comes to the last unused one. */
	for (int i = 0; i < 16 && count_folios(self, 2 * self->folio, false); i++)
		reclaim_file(LEN / 8);
	EXPECT_EQ(0, count_folios(self, 2 * self->folio, false));
	EXPECT_EQ(0, count_idle(self, true));
	unmake(self);
}

TEST_F_TIMEOUT(reference, idle, SLOW)
{
	if (is_mglru(variant->lru_gen))
		SKIP(return, "MGLRU's walks of page tables leave no trace in idleness");
	if (lacks(PAGE_CACHE) || access(IDLE_BITMAP, F_OK))
		SKIP(return, "no XFS at /mnt, or no page idle tracking");
	for (enum pattern pattern = FIRST; pattern <= last_pattern(self->folio); pattern++)
		for (int on = 0; on < 2; on++) {
			ASSERT_TRUE(begin_scene(on));
			check_idle(_metadata, self, pattern);
		}
}

TEST_LONG(reference, noted)
{
	const long half = LEN / self->folio / 2;

	if (lacks(PAGE_CACHE) || access(IDLE_BITMAP, F_OK))
		SKIP(return, "no XFS at /mnt, or no page idle tracking");
	for (int on = 0; on < 2; on++) {
		ASSERT_TRUE(begin_scene(on));
		ASSERT_TRUE(make(self, PAGE_CACHE));
		use(self->mem, self->folio, SECOND);
		ASSERT_TRUE(make_idle(self->mem));
		reclaim_file(LEN / 4);
		EXPECT_EQ(half, count_folios(self, 2 * self->folio, true));
		unmake(self);
	}
}

TEST_HARNESS_MAIN
