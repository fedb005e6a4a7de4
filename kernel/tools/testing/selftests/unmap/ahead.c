// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reclaim evicts neighbours together: folios of one page that are next to each other on its
 * list and in a page table.  Each test runs for lazyfree memory, a file's pages on XFS, shared
 * memory, and anonymous memory that goes to swap, as far as it applies.
 *
 * Off and on, with the same result for each page, and the same counts:
 *
 * all              neighbours are taken, at most 32 with the first; content stays
 * max_run          with max_run 1 none are taken
 * alone            neighbours that are not on reclaim's list stay
 * vmas             none is taken from another VMA
 * tables           none is taken from another page table
 * reclaimed        memory.reclaim takes neighbours, too
 * shared           pages that are mapped twice are not taken
 * some_shared      the same where every third page is mapped twice
 * referenced       an extra reference to every third page
 * pinned           a device still sees what the process writes to pinned pages
 * armed            memory with a userfaultfd is not taken; its marks stay
 * mlocked          every third page is mlocked, and stays
 * dirty            file pages whose entries are dirty are not taken; the file gets all stores
 * some_dirty       the same where every third entry is dirty
 * copied           private copies of some of a file's pages keep their content
 * redirtied        lazyfree pages that were written again are kept
 * merged           KSM's pages are not taken
 * notified         memory that a device mirrors is not taken
 * hot              pages in use stay, with the classic LRU and with MGLRU
 * aged             the same where MGLRU ages them while they are on reclaim's list
 *
 * One flush for many writes: written pages, also in folios of 64 KiB, while another thread runs:
 *
 * listed           pages that are no neighbours are evicted together; content stays
 * listed_shared    memory that is mapped twice is not
 * listed_hot       pages in use stay, and get no swap entries
 *
 * Races, while a thread reclaims, until enough pages were evicted; for AHEAD_MS milliseconds at
 * least.  With the switch off, where the code is stock's, they run only if AHEAD_MS is set.  The
 * seed is printed; AHEAD_SEED=N repeats it:
 *
 * faults fork mremap uffd_move remap truncate migrate mlock mprotect
 *
 * And:
 *
 * stale            a store to a page that was unmapped ahead is seen by a CPU whose TLB knows the
 *                  old page (a file's page that is mapped privately, lazyfree)
 * store            stores through a warm TLB reach the file, although writeback runs meanwhile
 * writeback        reclaim of pages that are being written
 * swap_full        swap is full halfway; no slot is lost
 * swap_limit       a control group's limit of swap; no failure is counted twice
 * swap_used        pages come back while reclaim goes on; then swapoff ends
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "parts/ahead/ahead.h"

#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

FIXTURE(ahead) {
	struct scene scene;
};

FIXTURE_VARIANT(ahead) {
	enum kind kind;
};

FIXTURE_VARIANT_ADD(ahead, lazyfree) { .kind = LAZYFREE };
FIXTURE_VARIANT_ADD(ahead, file) { .kind = FILE_SHARED };
FIXTURE_VARIANT_ADD(ahead, shmem) { .kind = SHMEM };
FIXTURE_VARIANT_ADD(ahead, anon) { .kind = ANON };

static const char *prepare(struct scene *scene, enum kind kind, unsigned long kib)
{
	const char *missing = begin(kib, true);

	if (missing)
		return missing;
	missing = scene_needs(kind);
	if (!missing && sysconf(_SC_NPROCESSORS_ONLN) < 2)
		missing = "needs two CPUs";
	if (!missing && kernel_before(6, 12))
		missing = "needs Linux 6.12";
	if (missing)
		end();
	*scene = (struct scene){ .kind = kind, .kib = kib, .len = LEN, .fd = -1 };
	return missing;
}

FIXTURE_SETUP(ahead)
{
	const char *missing = prepare(&self->scene, variant->kind, 4);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(ahead)
{
	mglru_restore();
	end();
}

/* The kinds of memory that a test is for. */
#define ANY		(BIT(LAZYFREE) | FILES | BIT(ANON))
#define FILES		(BIT(FILE_SHARED) | BIT(SHMEM))
#define NO_FILES	(BIT(LAZYFREE) | BIT(ANON))
#define BIT(kind)	(1U << (kind))

static unsigned int if_there(const char *path, unsigned int kinds)
{
	return access(path, R_OK) ? 0 : kinds;
}

static void check_job(struct __test_metadata *_metadata, struct scene *scene, unsigned int kinds,
		      bool (*run)(ahead_job job, struct scene *scene), ahead_job job)
{
	/* Reclaim may leave shared memory alone for a while, off and on: only races use it. */
	if (scene->kind == SHMEM || !(kinds & BIT(scene->kind)))
		SKIP(return, "not for this kind of memory, or without what it needs");
	EXPECT_TRUE(run(job, scene));
}

#define CHECKED(name, run, job, kinds)							\
	TEST_LONG(ahead, name)								\
	{										\
		check_job(_metadata, &self->scene, kinds, run, job);			\
	}

/* Each page must meet the same fate off and on: MADV_PAGEOUT gives the list. */
#define SAME(name, job, kinds)	CHECKED(name, ahead_both, job, kinds)
/* Off and on, where the order of reclaim's list is not certain. */
#define TWICE(name, job, kinds)	CHECKED(name, ahead_twice, job, kinds)

SAME(all, take_all, ANY)
SAME(max_run, take_max_run, ANY)
SAME(alone, take_alone, ANY)
TWICE(vmas, take_vmas, ANY)
TWICE(tables, take_tables, NO_FILES)
TWICE(reclaimed, take_reclaim, ANY)
TWICE(shared, refuse_shared, ANY)
TWICE(some_shared, refuse_some_shared, ANY)
SAME(referenced, refuse_referenced, ANY)
SAME(pinned, refuse_pinned, if_there("/sys/kernel/debug/gup_test", ANY))
SAME(armed, refuse_armed, ANY & ~BIT(FILE_SHARED))
TWICE(mlocked, refuse_mlocked, ANY)
SAME(dirty, refuse_dirty, FILES)
SAME(some_dirty, refuse_some_dirty, FILES)
SAME(copied, refuse_copied, BIT(FILE_SHARED))
SAME(redirtied, refuse_redirtied, BIT(LAZYFREE))
SAME(merged, refuse_merged, BIT(ANON))
TWICE(notified, refuse_notified, if_there("/dev/hmm_dmirror0", ANY))

/* Pages in use.  @mask is for lru_gen/enabled. */

static void check_hot(struct __test_metadata *_metadata, struct scene *scene, int mask,
		      ahead_job job)
{
	if (!mglru_set(mask))
		SKIP(return, "no MGLRU");
	EXPECT_TRUE(ahead_twice(job, scene));
	TH_LOG("lru_gen/enabled %d: hot pages evicted: off %ld, on %ld", mask,
	       ahead_note(false), ahead_note(true));
	/* MGLRU's generations, which time advances, too, let some go: when on, and when off. */
	EXPECT_GE(ahead_note(false) + HOT / 2, ahead_note(true));
}

TEST_LONG(ahead, hot)
{
	if (!(NO_FILES & BIT(variant->kind)))
		SKIP(return, "which pages of a file are young, its page cache says, too");
	check_hot(_metadata, &self->scene, 0, hot_stays);
	check_hot(_metadata, &self->scene, 7, hot_stays);
}

TEST_LONG(ahead, aged)
{
	if (variant->kind != LAZYFREE)
		SKIP(return, "what reclaim keeps of other memory, its next round may evict");
	if (!kernel_before(6, 18))
		SKIP(return, "since Linux 6.18 reclaim takes what only aging found young");
	if (!mglru_set(7) || !mglru_can_age())
		SKIP(return, "no MGLRU, or no debugfs");
	EXPECT_TRUE(ahead_twice(aged_stays, &self->scene));
	TH_LOG("used pages evicted: off %ld, on %ld", ahead_note(false), ahead_note(true));
	EXPECT_GE(ahead_note(false), ahead_note(true));
}

FIXTURE(ahead_list) {
	struct scene scene;
};

FIXTURE_VARIANT(ahead_list) {
	enum kind kind;
	unsigned long kib;
};

FIXTURE_VARIANT_ADD(ahead_list, anon_4K) { .kind = ANON, .kib = 4 };
FIXTURE_VARIANT_ADD(ahead_list, anon_64K) { .kind = ANON, .kib = 64 };
FIXTURE_VARIANT_ADD(ahead_list, shmem_4K) { .kind = SHMEM, .kib = 4 };
FIXTURE_VARIANT_ADD(ahead_list, shmem_64K) { .kind = SHMEM, .kib = 64 };

FIXTURE_SETUP(ahead_list)
{
	const char *missing = prepare(&self->scene, variant->kind, variant->kib);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(ahead_list)
{
	mglru_restore();
	end();
}

TEST_LONG(ahead_list, listed)
{
	EXPECT_TRUE(ahead_twice(list_all, &self->scene));
}

TEST_LONG(ahead_list, listed_shared)
{
	EXPECT_TRUE(ahead_twice(list_shared, &self->scene));
}

TEST_LONG(ahead_list, listed_hot)
{
	if (variant->kind != ANON || variant->kib != 4)
		SKIP(return, "large folios all have a hot page; of files the cache says which");
	check_hot(_metadata, &self->scene, 0, list_hot_anew);
	check_hot(_metadata, &self->scene, 7, list_hot);
}

FIXTURE(ahead_race) {
	struct scene scene;
};

FIXTURE_VARIANT(ahead_race) {
	enum kind kind;
	unsigned long kib;
	bool on;
};

#define VARIANTS(name, what, size) \
	FIXTURE_VARIANT_ADD(ahead_race, name ## _on) { what, FOLIO_KIB(size), true }; \
	FIXTURE_VARIANT_ADD(ahead_race, name ## _off) { what, FOLIO_KIB(size), false }

VARIANTS(lazyfree, LAZYFREE, 4);
VARIANTS(file, FILE_SHARED, 4);
VARIANTS(shmem, SHMEM, 4);
VARIANTS(anon, ANON, 4);
VARIANTS(anon_64K, ANON, 64);

static void choose_seed(struct __test_metadata *_metadata)
{
	unsigned long seed = from_env("AHEAD_SEED", time(NULL) * 1000003L + getpid());

	race_seed(seed);
	TH_LOG("seed %lu", seed);
}

FIXTURE_SETUP(ahead_race)
{
	const char *missing = prepare(&self->scene, variant->kind, variant->kib);

	if (missing)
		SKIP(return, "%s", missing);
	choose_seed(_metadata);
	table_window(WINDOW);
}

FIXTURE_TEARDOWN(ahead_race)
{
	table_window(0);
	end();
}

static void check_race(struct __test_metadata *_metadata, struct scene *scene, bool on,
		       unsigned int kinds, ahead_job job)
{
	if (!(kinds & BIT(scene->kind)))
		SKIP(return, "not for this kind of memory");
	if (!on && !getenv("AHEAD_MS"))
		SKIP(return, "with the switch off, needs AHEAD_MS");
	EXPECT_TRUE(ahead_run(job, scene, on));
}

#define RACE(name, job, kinds)								\
	TEST_LONG(ahead_race, name)							\
	{										\
		check_race(_metadata, &self->scene, variant->on, kinds, job);		\
	}

RACE(faults, race_faults, ANY)
RACE(fork, race_fork, ANY)
RACE(mremap, race_mremap, ANY)
RACE(uffd_move, race_uffd_move, NO_FILES)
RACE(remap, race_remap, ANY)
RACE(truncate, race_truncate, FILES)
RACE(migrate, race_migrate, ANY)
/* Stock 6.12 unmaps pages of files, too, rarely, right after mlock() returned. */
RACE(mlock, race_mlock, ANY & ~BIT(FILE_SHARED))
RACE(mprotect, race_mprotect, ANY)
RACE(stale, stale_read, BIT(FILE_SHARED) | BIT(LAZYFREE))
RACE(store, lost_store, BIT(FILE_SHARED))
RACE(writeback, lost_writeback, BIT(FILE_SHARED))
RACE(swap_used, swap_used, BIT(ANON) | BIT(SHMEM))

/* Swap. */

TEST_LONG(ahead, swap_full)
{
	if (variant->kind != ANON)
		SKIP(return, "only anonymous memory takes slots ahead");
	EXPECT_TRUE(ahead_twice(swap_full, &self->scene));
	/* CPUs may have kept slots. */
	EXPECT_GE(64 * sysconf(_SC_NPROCESSORS_ONLN),
		  labs(ahead_note(false) - ahead_note(true)));
}

TEST_LONG(ahead, swap_limit)
{
	if (variant->kind != ANON)
		SKIP(return, "only anonymous memory takes slots ahead");
	EXPECT_TRUE(ahead_twice(swap_limit, &self->scene));
	TH_LOG("refused by the limit: off %ld, on %ld", ahead_note(false), ahead_note(true));
	EXPECT_LE(ahead_note(true), ahead_note(false) + STRETCH);
}

TEST_HARNESS_MAIN
