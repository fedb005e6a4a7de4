// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reclaim while allocations fail, or while swap is full or fails.  No page may lose its
 * content, reclaim must return, and the process's counters must be zero at its exit ("BUG:
 * Bad rss-counter" in the log): each test runs in a process of its own for that.
 *
 * Memory of all kinds and sizes:
 * slab_fails      every slab allocation of reclaim fails: pages stay, and can be reclaimed
 *                 later
 * pages_fail      the same for page allocations, which zram needs
 * both_sometimes  a third of both fail: reclaim completes or reverts each step
 * nothing_needed  every allocation of the unmapping itself fails: it needs none, and so
 *                 keeps no page; only a record of an empty page table may be missing
 * task_fails      a third of all of a process's allocations fail during faults and madvise()
 * no_tables       half of the time pte_offset_map_lock() finds no table, below callers that
 *                 must retry: faults, GUP, mprotect(), mremap()
 *
 * Swap, anonymous and shared memory:
 * full            swap becomes full in the middle of a folio: each page is in memory or in
 *                 swap, never in neither (lost) or both; swap slots are freed
 * full_shared     the same for pages shared with a child: both processes keep theirs
 * limited         memory.swap.max is reached, the device has room
 * write_error     zram has no memory for a write (-ENOMEM): unmapped pages come back
 *                 as they were, and can be reclaimed once there is memory
 * device_error    the device fails every other write (-EIO)
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

/* Large enough for several folios of the largest size. */
#define LEN(kib)	((kib) > 64 ? 2 * RANGE : RANGE)
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

/* Reclaim of a list of folios; unmapping a folio from a VMA, in stock code and here. */
#define RECLAIM	"shrink_folio_list"
#define STOCK_UNMAP	"try_to_unmap_one"
#define SWATHE_UNMAP	"unmap_evict_from_vma"

/* Swap slots that per-CPU caches may hold: free ones and freed ones. */
#define SLOT_SLACK	(2 * 64 * sysconf(_SC_NPROCESSORS_ONLN))

#define VARIANTS(fixture, prefix, what, size) \
	FIXTURE_VARIANT_ADD(fixture, prefix ## _ ## size ## K_on) { \
		.kind = what, .kib = FOLIO_KIB(size), .on = true }; \
	FIXTURE_VARIANT_ADD(fixture, prefix ## _ ## size ## K_off) { \
		.kind = what, .kib = FOLIO_KIB(size) }

static const char *prepare(struct scene *scene, enum kind kind, unsigned long kib, bool on)
{
	const char *missing = begin(kib, on);

	if (missing)
		return missing;
	missing = scene_needs(kind);
	if (!missing && access("/sys/kernel/debug/failslab", F_OK))
		missing = "needs fault injection in debugfs";
	if (missing)
		end();
	*scene = (struct scene){ .kind = kind, .kib = kib, .len = LEN(kib), .fd = -1 };
	return missing;
}

static long pages(const struct scene *scene)
{
	return scene->len / PAGE;
}

static bool is_swapped(const struct scene *scene)
{
	return scene->kind == ANON || scene->kind == SHMEM;
}

/* Pages that reclaim may free: of lazyfree memory, those of folios that were not rewritten. */
static long may_go(const struct scene *scene)
{
	long folio = scene->kib * KIB / PAGE, sum = 0;

	for (long at = 0; at < pages(scene); at += folio) {
		bool kept = false;

		for (long i = at; i < at + folio; i++)
			kept |= scene_was_rewritten(scene, i);
		sum += kept && scene->kind == LAZYFREE ? 0 : folio;
	}
	return sum;
}

/* Without injected failures, reclaim frees most pages. */
static bool goes_later(struct scene *scene)
{
	scene_refill(scene);
	if (scene->kind == LAZYFREE)
		CHECK(!madvise(scene->mem, scene->len, MADV_FREE));
	CHECK(!madvise(scene->mem, scene->len, MADV_PAGEOUT));
	CHECK(count_pages(scene->mem, scene->len, PM_PRESENT) < pages(scene) / 2);
	return true;
}

FIXTURE(swap) {
	struct scene scene;
};

FIXTURE_VARIANT(swap) {
	enum kind kind;
	unsigned long kib;
	bool on;
};

VARIANTS(swap, anon, ANON, 4);
VARIANTS(swap, anon, ANON, 64);
VARIANTS(swap, anon, ANON, 2048);
VARIANTS(swap, shmem, SHMEM, 64);

FIXTURE_SETUP(swap)
{
	const char *missing = prepare(&self->scene, variant->kind, variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(swap)
{
	faults_off("fail_make_request");
	EXPECT_TRUE(swap_back());
	end();
}

/* Not a multiple of any folio size. */
#define SMALL_SWAP(scene)	((pages(scene) * 5 / 8 + 27) * PAGE)
#define LARGE_SWAP	(8 * RANGE)

/* Folios that are partly in swap. */
static long count_cut(const struct scene *scene)
{
	size_t folio = scene->kib * KIB;
	long cut = 0, gone;

	for (size_t at = 0; at < scene->len; at += folio) {
		gone = count_pages(scene->mem + at, folio, PM_SWAP);
		cut += gone && gone < (long)(folio / PAGE);
	}
	return cut;
}

/* Each page is present or swapped out.  Reclaim leaves no entry for a page of shmem. */
static bool accounted_for(const struct scene *scene)
{
	long there = count_pages(scene->mem, scene->len, PM_PRESENT);
	long gone = count_pages(scene->mem, scene->len, PM_SWAP);

	if (scene->kind == SHMEM)
		there = cgroup_stat("shmem") / (long)PAGE;
	CHECK(there > 0 && there < pages(scene));
	if (scene->kind == SHMEM)
		return true;
	CHECK_EQ(pages(scene), there + gone);
	CHECK(scene->kib == 4 || count_cut(scene) > 0);
	return true;
}

static bool full(struct scene *scene)
{
	CHECK(scene_make(scene));
	scene_reclaim(scene);
	CHECK(swap_free_pages() <= SLOT_SLACK);
	CHECK(accounted_for(scene));
	CHECK_EQ(0, scene_wrong(scene));
	scene_refill(scene);
	scene_reclaim(scene);
	CHECK_EQ(0, scene_wrong(scene));
	return true;
}

TEST_LONG(swap, full)
{
	long long before;

	ASSERT_TRUE(swap_only(SMALL_SWAP(&self->scene)));
	before = swap_free_pages();
	EXPECT_TRUE(apart(full, &self->scene));
	EXPECT_GE(SLOT_SLACK, before - swap_free_pages());
}

/* The child: wait for the parent, then check the pages. */
static bool child_keeps(struct scene *scene, const int *pipes)
{
	char token;

	close(pipes[1]);
	CHECK_EQ(0, read(pipes[0], &token, 1));
	CHECK_EQ(0, scene_wrong(scene));
	scene_refill(scene);
	CHECK_EQ(0, scene_wrong(scene));
	return true;
}

static bool full_shared(struct scene *scene)
{
	int pipes[2], status, pid;

	CHECK(scene_make(scene));
	CHECK(!pipe(pipes));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		status = !child_keeps(scene, pipes);
		fflush(stdout);
		_exit(status);
	}
	scene_reclaim(scene);
	CHECK(accounted_for(scene));
	close(pipes[1]);
	CHECK_EQ(0, scene_wrong(scene));
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	CHECK_EQ(0, status);
	CHECK_EQ(0, scene_wrong(scene));
	return true;
}

TEST_LONG(swap, full_shared)
{
	ASSERT_TRUE(swap_only(SMALL_SWAP(&self->scene)));
	EXPECT_TRUE(apart(full_shared, &self->scene));
}

static bool limited(struct scene *scene)
{
	CHECK(scene_make(scene));
	scene_reclaim(scene);
	CHECK(accounted_for(scene));
	CHECK_EQ(0, scene_wrong(scene));
	CHECK(cgroup_write("memory.swap.max", "max"));
	return goes_later(scene) && !scene_wrong(scene);
}

TEST_LONG(swap, limited)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", SMALL_SWAP(&self->scene));
	ASSERT_TRUE(swap_only(LARGE_SWAP));
	ASSERT_TRUE(cgroup_write("memory.swap.max", text));
	EXPECT_TRUE(apart(limited, &self->scene));
	EXPECT_GE(SLOT_SLACK * (long)PAGE, cgroup_read("memory.swap.current", ""));
}

/* Tries to write each page once. */
static bool write_error(struct scene *scene)
{
	CHECK(scene_make(scene));
	CHECK(!madvise(scene->mem, scene->len, MADV_PAGEOUT));
	CHECK_EQ(0, scene_wrong(scene));
	CHECK(swap_memory_limit(0));
	return goes_later(scene) && !scene_wrong(scene);
}

TEST_LONG(swap, write_error)
{
	ASSERT_TRUE(swap_only(LARGE_SWAP));
	ASSERT_TRUE(swap_memory_limit(MIB / 2));
	EXPECT_TRUE(apart(write_error, &self->scene));
	EXPECT_LT(0, swap_failed_writes());
}

static bool device_error(struct scene *scene)
{
	CHECK(scene_make(scene));
	CHECK(swap_may_fail(true));
	CHECK(faults_on("fail_make_request", "__swap_writepage", 50));
	scene_reclaim(scene);
	CHECK(faults_off("fail_make_request") > 0);
	CHECK_EQ(0, scene_wrong(scene));
	return goes_later(scene) && !scene_wrong(scene);
}

TEST_LONG(swap, device_error)
{
	if (access("/sys/kernel/debug/fail_make_request", F_OK))
		SKIP(return, "needs CONFIG_FAIL_MAKE_REQUEST");
	ASSERT_TRUE(swap_only(LARGE_SWAP));
	EXPECT_TRUE(apart(device_error, &self->scene));
}

/*
 * No test after this point may call swapoff(): if an allocation fails while a folio is added
 * to the swap cache, 6.12 leaves empty nodes behind, and swapoff() warns about them.
 */
FIXTURE(faults) {
	struct scene scene;
};

FIXTURE_VARIANT(faults) {
	enum kind kind;
	unsigned long kib;
	bool on;
};

VARIANTS(faults, anon, ANON, 4);
VARIANTS(faults, anon, ANON, 64);
VARIANTS(faults, anon, ANON, 2048);
VARIANTS(faults, lazyfree, LAZYFREE, 64);
VARIANTS(faults, lazyfree, LAZYFREE, 2048);
VARIANTS(faults, file, FILE_SHARED, 64);
VARIANTS(faults, file, FILE_SHARED, 1024);
VARIANTS(faults, shmem, SHMEM, 64);

FIXTURE_SETUP(faults)
{
	const char *missing = prepare(&self->scene, variant->kind, variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(faults)
{
	faults_off("failslab");
	faults_off("fail_page_alloc");
	faults_off("fail_pte_map");
	end();
}

static bool survive(struct scene *scene, const char *first, const char *second, int percent)
{
	long failed = 0;

	CHECK(scene_make(scene));
	CHECK(faults_on(first, RECLAIM, percent));
	CHECK(!second || faults_on(second, RECLAIM, percent));
	scene_reclaim(scene);
	failed = faults_off(first);
	failed += second ? faults_off(second) : 0;
	printf("# injected %ld\n", failed);
	CHECK_EQ(0, scene_wrong(scene));
	/* Some allocation must have failed; lazyfree and file memory need none. */
	CHECK(failed > 0 || !is_swapped(scene));
	return goes_later(scene);
}

static bool slab_fails(struct scene *scene)
{
	return survive(scene, "failslab", NULL, 100);
}

static bool pages_fail(struct scene *scene)
{
	return survive(scene, "fail_page_alloc", NULL, 100);
}

static bool both_sometimes(struct scene *scene)
{
	return survive(scene, "failslab", "fail_page_alloc", 33);
}

TEST_LONG(faults, slab_fails)
{
	EXPECT_TRUE(apart(slab_fails, &self->scene));
}

TEST_LONG(faults, pages_fail)
{
	EXPECT_TRUE(apart(pages_fail, &self->scene));
}

TEST_LONG(faults, both_sometimes)
{
	EXPECT_TRUE(apart(both_sometimes, &self->scene));
}

/* Tables of any process that became empty: mm/unmap may allocate a record for each. */
static long long noticed(void)
{
	return switch_has(UNMAP_TABLES) ? unmap_stat("tables_noticed") : 0;
}

static bool nothing_needed(struct scene *scene, const char *unmap)
{
	long present, failed;
	long long before;

	CHECK(scene_make(scene));
	before = noticed();
	CHECK(faults_on("failslab", unmap, 100));
	CHECK(faults_on("fail_page_alloc", unmap, 100));
	scene_reclaim(scene);
	failed = faults_off("failslab") + faults_off("fail_page_alloc");
	present = count_pages(scene->mem, scene->len, PM_PRESENT);
	CHECK(failed >= 0);
	CHECK(failed <= noticed() - before);
	CHECK(present <= pages(scene) - may_go(scene));
	CHECK_EQ(0, scene_wrong(scene));
	return true;
}

static bool nothing_needed_on(struct scene *scene)
{
	return nothing_needed(scene, SWATHE_UNMAP) && goes_later(scene);
}

static bool nothing_needed_off(struct scene *scene)
{
	return nothing_needed(scene, STOCK_UNMAP) && goes_later(scene);
}

TEST_LONG(faults, nothing_needed)
{
	EXPECT_TRUE(apart(variant->on ? nothing_needed_on : nothing_needed_off, &self->scene));
}

/* The kernel retries faults that find no memory; madvise() may do nothing. */
static bool task_fails(struct scene *scene)
{
	long failed;

	CHECK(scene_make(scene));
	for (int round = 0; round < 2; round++) {
		CHECK(faults_on("failslab", NULL, 33));
		CHECK(faults_on("fail_page_alloc", NULL, 33));
		CHECK(faults_task(true));
		madvise(scene->mem, scene->len, MADV_PAGEOUT);
		for (long i = 0; i < pages(scene); i += 3)
			READ_ONCE(scene->mem[i * PAGE]);
		madvise(scene->mem, scene->len, MADV_PAGEOUT);
		CHECK(faults_task(false));
		failed = faults_off("failslab") + faults_off("fail_page_alloc");
		printf("# injected %ld\n", failed);
		CHECK(failed > 0);
		CHECK_EQ(0, scene_wrong(scene));
	}
	return goes_later(scene);
}

TEST_LONG(faults, task_fails)
{
	EXPECT_TRUE(apart(task_fails, &self->scene));
}

static bool read_by_kernel(struct scene *scene)
{
	static char page[PAGE];
	struct iovec to = { .iov_base = page, .iov_len = PAGE };

	for (long i = 0; i < pages(scene); i += 7) {
		struct iovec from = { .iov_base = scene->mem + i * PAGE, .iov_len = PAGE };

		CHECK_EQ(PAGE, process_vm_readv(getpid(), &to, 1, &from, 1, 0));
	}
	return true;
}

static bool protected(struct scene *scene)
{
	CHECK(!mprotect(scene->mem, scene->len, PROT_READ));
	CHECK_EQ(0, scene_wrong(scene));
	CHECK(!mprotect(scene->mem, scene->len, PROT_READ | PROT_WRITE));
	return true;
}

/* Alignment differs, so mremap() moves entry by entry. */
static bool moved(struct scene *scene)
{
	size_t len = scene->len;
	char *from = scene->mem, *to;

	to = map_aligned(len + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1) + PAGE;
	CHECK(to != MAP_FAILED + PAGE);
	CHECK(mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	scene->mem = to;
	CHECK_EQ(0, scene_wrong(scene));
	CHECK(mremap(to, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, from) == from);
	scene->mem = from;
	return true;
}

static bool refaulted(struct scene *scene)
{
	CHECK(!madvise(scene->mem, scene->len, MADV_PAGEOUT));
	CHECK_EQ(0, scene_wrong(scene));
	return true;
}

static const struct {
	const char *below;
	bool (*use)(struct scene *scene);
} tries_again[] = {
	{ "handle_mm_fault", refaulted },
	{ "__get_user_pages", read_by_kernel },
	{ "change_protection", protected },
	{ "move_page_tables", moved },
};

/* Some callers look for a table only once. */
#define ROUNDS	50

static bool tries_again_in(struct scene *scene, size_t i)
{
	long failed = 0;

	for (int round = 0; !failed && round < ROUNDS; round++) {
		CHECK(faults_on("fail_pte_map", tries_again[i].below, 50));
		CHECK(tries_again[i].use(scene));
		failed = faults_off("fail_pte_map");
		CHECK_EQ(0, scene_wrong(scene));
	}
	if (!failed)
		printf("# %s never failed\n", tries_again[i].below);
	return failed > 0;
}

static bool no_tables(struct scene *scene)
{
	CHECK(scene_make(scene));
	for (size_t i = 0; i < ARRAY_SIZE(tries_again); i++)
		CHECK(tries_again_in(scene, i));
	return goes_later(scene);
}

TEST_LONG(faults, no_tables)
{
	if (access("/sys/kernel/debug/fail_pte_map", F_OK))
		SKIP(return, "needs fail_pte_map, in kernels built for tests");
	EXPECT_TRUE(apart(no_tables, &self->scene));
}

TEST_HARNESS_MAIN
