// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory errors (MADV_HWPOISON, or hwpoison-inject by frame number) and memory that is
 * about to fail (MADV_SOFT_OFFLINE), in one page of a large folio that two processes map.
 * Both processes must get SIGBUS for pages whose content is lost, and for no others: a
 * clean page of a file is read again; all other pages keep their content.
 *
 * then_reclaim  poison a page, then reclaim the rest of the folio
 * reclaimed     reclaim the folio and read it in again before poisoning a page
 * by_frame      the error is reported by frame number, not by the process's madvise()
 * soft_offline  the content moves: no SIGBUS, before or after reclaim
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define LEN	(2 * RANGE)
#define PAGES	((long)(LEN / PAGE))
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
#define INJECT	"/sys/kernel/debug/hwpoison/"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE	101
#endif

/* Inside a folio that was not rewritten, and inside one that was, for all folio sizes. */
static const long bad[] = { 5, 790 };
#define NR_BAD	2

FIXTURE(poison) {
	struct scene scene;
};

FIXTURE_VARIANT(poison) {
	enum kind kind;
	unsigned long kib;
	bool on;
};

#define VARIANTS(prefix, what, size) \
	FIXTURE_VARIANT_ADD(poison, prefix ## _ ## size ## K_on) { \
		.kind = what, .kib = FOLIO_KIB(size), .on = true }; \
	FIXTURE_VARIANT_ADD(poison, prefix ## _ ## size ## K_off) { \
		.kind = what, .kib = FOLIO_KIB(size) }

VARIANTS(anon, ANON, 64);
VARIANTS(lazyfree, LAZYFREE, 64);
VARIANTS(lazyfree, LAZYFREE, 1024);
VARIANTS(file, FILE_SHARED, 64);
VARIANTS(file, FILE_SHARED, 1024);
VARIANTS(shmem, SHMEM, 64);

FIXTURE_SETUP(poison)
{
	const char *missing = begin(variant->kib, variant->on);

	if (!missing && access(INJECT "corrupt-pfn", W_OK)) {
		end();
		missing = "needs CONFIG_HWPOISON_INJECT";
	}
	if (missing)
		SKIP(return, "%s", missing);
	self->scene = (struct scene){
		.kind = variant->kind, .kib = variant->kib, .len = LEN, .fd = -1
	};
}

FIXTURE_TEARDOWN(poison)
{
	end();
}

/* Another process that maps the memory.  Asked by the parent, it tells which pages it can read. */
struct other {
	int pid;
	int ask[2], ready[2];
	struct {
		bool readable, right;
	} *seen;
};

static void look(struct other *other, const struct scene *scene)
{
	for (long i = 0; i < PAGES; i++) {
		other->seen[i].readable = try_read(scene->mem + i * PAGE);
		if (other->seen[i].readable)
			other->seen[i].right = scene_page_ok(scene, i);
	}
}

static bool start_other(struct other *other, const struct scene *scene)
{
	char token = 0;

	other->seen = mmap(NULL, PAGES * sizeof(*other->seen), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(other->seen != MAP_FAILED);
	CHECK(!pipe(other->ask) && !pipe(other->ready));
	other->pid = fork();
	if (other->pid)
		return other->pid > 0 && read(other->ready[0], &token, 1) == 1;
	close(other->ask[1]);
	/* fork() does not copy entries of file pages: map them. */
	for (long i = 0; i < PAGES; i++)
		READ_ONCE(scene->mem[i * PAGE]);
	if (write(other->ready[1], &token, 1) != 1 || read(other->ask[0], &token, 1))
		_exit(2);
	look(other, scene);
	_exit(0);
}

static bool end_other(struct other *other)
{
	int status;

	close(other->ask[1]);
	CHECK_EQ(other->pid, waitpid(other->pid, &status, 0));
	CHECK_EQ(0, status);
	return true;
}

static bool poison_frame(char *addr)
{
	__u64 pfn = PAGEMAP_PFN(pagemap(addr));

	if (write_number(INJECT "corrupt-pfn", pfn))
		return true;
	printf("# frame %llx: %s\n", (unsigned long long)pfn, strerror(errno));
	return false;
}

/* A folio in a per-CPU LRU batch has an extra reference and cannot be split. */
static void drain_batches(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	madvise(page, PAGE, MADV_COLD);
	munmap(page, PAGE);
}

enum loss { KEPT, LOST, EITHER };

/*
 * A clean page can be read again from its file.  A page that was read in from swap may have
 * a copy in swap still: then it can be read, with the right content.
 */
static enum loss loss(const struct scene *scene, long page, bool from_swap)
{
	for (int i = 0; i < NR_BAD; i++)
		if (bad[i] == page && scene->kind != FILE_SHARED)
			return from_swap ? EITHER : LOST;
	return KEPT;
}

static bool as_expected(const struct scene *scene, long page, bool from_swap, bool readable)
{
	enum loss want = loss(scene, page, from_swap);

	if (want == EITHER || readable == (want == KEPT))
		return true;
	printf("# page %ld can%s be read\n", page, readable ? "" : "not");
	return false;
}

static bool only_bad_is_lost(const struct scene *scene, bool from_swap)
{
	for (long i = 0; i < PAGES; i++) {
		bool readable = try_read(scene->mem + i * PAGE);

		CHECK(as_expected(scene, i, from_swap, readable));
		CHECK(!readable || scene_page_ok(scene, i));
	}
	return true;
}

static bool other_agrees(const struct other *other, const struct scene *scene, bool from_swap)
{
	for (long i = 0; i < PAGES; i++) {
		CHECK(as_expected(scene, i, from_swap, other->seen[i].readable));
		CHECK(!other->seen[i].readable || other->seen[i].right);
	}
	return true;
}

/* A dirty folio of a file cannot be split: an error would lose all of it. */
static bool make_splittable(struct scene *scene)
{
	if (scene->kind == FILE_SHARED)
		CHECK(!msync(scene->mem, LEN, MS_SYNC));
	drain_batches();
	return true;
}

static bool make_bad(struct scene *scene, bool (*poison)(char *addr))
{
	CHECK(make_splittable(scene));
	for (int i = 0; i < NR_BAD; i++) {
		char *addr = scene->mem + bad[i] * PAGE;

		READ_ONCE(*addr);
		CHECK(pagemap(addr) & PM_PRESENT);
		CHECK(poison(addr));
	}
	return true;
}

static bool hurt(struct scene *scene, bool (*poison)(char *addr), bool reclaim_first)
{
	bool from_swap = reclaim_first && scene->kind == ANON;
	struct other other;

	CHECK(scene_make(scene));
	CHECK(start_other(&other, scene));
	if (reclaim_first) {
		scene_reclaim(scene);
		CHECK_EQ(0, scene_wrong(scene));
	}
	CHECK(make_bad(scene, poison));
	CHECK(only_bad_is_lost(scene, from_swap));
	scene_reclaim(scene);
	CHECK(only_bad_is_lost(scene, from_swap));
	CHECK(end_other(&other));
	CHECK(other_agrees(&other, scene, from_swap));
	return true;
}

static bool then_reclaim(struct scene *scene)
{
	return hurt(scene, poison_page, false);
}

TEST_LONG(poison, then_reclaim)
{
	EXPECT_TRUE(apart(then_reclaim, &self->scene));
}

static bool reclaimed(struct scene *scene)
{
	return hurt(scene, poison_page, true);
}

TEST_LONG(poison, reclaimed)
{
	if (variant->kind == LAZYFREE)
		SKIP(return, "reclaimed lazyfree pages do not come back");
	EXPECT_TRUE(apart(reclaimed, &self->scene));
}

static bool by_frame(struct scene *scene)
{
	return hurt(scene, poison_frame, false);
}

TEST_LONG(poison, by_frame)
{
	EXPECT_TRUE(apart(by_frame, &self->scene));
}

static bool soft_offline(struct scene *scene)
{
	struct other other;
	__u64 pfn;

	CHECK(scene_make(scene));
	CHECK(start_other(&other, scene));
	CHECK(make_splittable(scene));
	for (int i = 0; i < NR_BAD; i++) {
		char *addr = scene->mem + bad[i] * PAGE;

		READ_ONCE(*addr);
		pfn = PAGEMAP_PFN(pagemap(addr));
		CHECK_EQ(0, madvise(addr, PAGE, MADV_SOFT_OFFLINE) ? errno : 0);
		READ_ONCE(*addr);
		CHECK(PAGEMAP_PFN(pagemap(addr)) != pfn);
	}
	CHECK_EQ(0, scene_wrong(scene));
	scene_reclaim(scene);
	CHECK_EQ(0, scene_wrong(scene));
	CHECK(end_other(&other));
	for (long i = 0; i < PAGES; i++)
		CHECK(other.seen[i].readable && other.seen[i].right);
	return true;
}

TEST_LONG(poison, soft_offline)
{
	EXPECT_TRUE(apart(soft_offline, &self->scene));
}

TEST_HARNESS_MAIN
