// SPDX-License-Identifier: GPL-2.0-only
/*
 * Full page tables of idle processes, and old ones of others, are dropped when memory is short
 * (law 15).
 *
 * read		tables of pages that were read go; faults have the content back
 * written	tables of pages that were written go, and what was written stays
 * stored	what was written through a table that went reaches the file, or swap
 * flushed	a thread that was just reading through a table that went sees what changes then
 * flushed_collapsed
 *		the same, where a huge page takes the place of what the table has mapped
 * private	tables of a private mapping go where nothing was copied
 * parts	tables go that serve two VMAs of files, or a part of one
 * twice	so do tables that map a page twice, in neighbouring entries
 * huge		a fault where a table went gets no huge page (law 11)
 * busy		those of a process that runs stay
 * old		if a process runs, tables go that it does not use
 * used		those that it uses stay
 * used_aged	also where MGLRU clears the accessed bits in between
 * many		old ones go of a process before many that have few tables
 * recent	pages that a running process used stay in the cache as if it had unmapped them
 * share	reclaim that is not urgent leaves them, unless they are a large share of memory
 * sysv		SysV shared memory, which faults do not map around: only urgent reclaim takes it
 * off		nothing goes with bit 0x0010 off
 * keeps	they stay if their memory is locked (mlock, SHM_LOCK), watched by userfaultfd,
 *		tracked by soft-dirty, mirrored by a device, or if a page in them was copied; or
 *		another VMA is beside it; or the OOM reaper took the rest of the process's memory
 * strays	a table stays that still maps what munmap() is about to zap
 * watched	userfaultfd begins to watch memory meanwhile: from then on no table of it goes
 * watched_minor
 *		the same for minor faults: none is raised for what is mapped
 * punched	holes are punched in the file meanwhile
 * collapsed	MADV_COLLAPSE puts huge pages in the place of what tables map meanwhile
 * ends		processes exit, exec, fork, lock memory, or are killed and reaped meanwhile
 * oom		a process is killed for memory meanwhile, and the OOM reaper takes its memory
 * killed	a process that is killed meanwhile does not wait for the task that drops tables
 * full		a file that shares blocks is written and synced meanwhile, until XFS is full
 * victim	mmap() of a process does not wait for a throttled task (cpu.max) that drops its
 *		tables: as "throttled" of kept; DROP_SECONDS (4)
 * race		memory changes meanwhile: faults, copies, fork, exec, mremap, mprotect, truncation,
 *		mlock, userfaultfd
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "parts/drop/drop.h"

#define TIME_LIMIT	300
#define OLD		"drop_old"
/* The sleeper's stack, data and libraries. */
#define OWN		8L

static struct {
	char idle[16], share[16];
} settings;

static const char *set_up(enum kind kind, unsigned long kib, unsigned long idle_ms)
{
	const char *missing = sleeper_needs(kind);

	if (!missing)
		missing = begin(kib, true);
	if (missing)
		return missing;
	if (!read_text(DROP_IDLE, settings.idle, sizeof(settings.idle)) ||
	    !read_text(DROP_SHARE, settings.share, sizeof(settings.share)) ||
	    !write_number(DROP_IDLE, idle_ms))
		return "cannot read or write the settings of CONFIG_UNMAP_DROP";
	return NULL;
}

static void tear_down(void)
{
	write_text(DROP_IDLE, settings.idle);
	write_text(DROP_SHARE, settings.share);
	mglru_restore();
	end();
}

FIXTURE(drop) {
	struct sleeper sleeper;
	long before;		/* tables of the sleeper */
};

FIXTURE_VARIANT(drop) {
	enum kind kind;
	unsigned long kib;
};

FIXTURE_VARIANT_ADD(drop, shmem_4K) { SHMEM, 4 };
FIXTURE_VARIANT_ADD(drop, shmem_64K) { SHMEM, 64 };
FIXTURE_VARIANT_ADD(drop, file_4K) { FILE_SHARED, 4 };
FIXTURE_VARIANT_ADD(drop, file_64K) { FILE_SHARED, 64 };

FIXTURE_SETUP(drop)
{
	const char *missing = set_up(variant->kind, variant->kib, IDLE_MS);

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(drop)
{
	tear_down();
}

/* Start a sleeper, and remember its tables. */
static bool starts(struct sleeper *s, const struct mapping *mapping, long *before)
{
	CHECK(sleeper_start(s, mapping));
	*before = sleeper_tables(s);
	CHECK(*before >= COPIES);
	return true;
}

#define START(...)									\
	do {										\
		const struct mapping mapping = { .kind = variant->kind, .kib = variant->kib,	\
						 __VA_ARGS__ };				\
		ASSERT_TRUE(starts(&self->sleeper, &mapping, &self->before));		\
		EXPECT_TRUE(drop_slabs());						\
	} while (0)

#define EXPECT_GONE(tables)								\
	do {										\
		EXPECT_GE(self->before - (tables), sleeper_tables(&self->sleeper));	\
		EXPECT_TRUE(sleeper_wake(&self->sleeper));				\
	} while (0)

#define EXPECT_STAYED									\
	do {										\
		EXPECT_LE(self->before - OWN, sleeper_tables(&self->sleeper));		\
		EXPECT_TRUE(sleeper_wake(&self->sleeper));				\
	} while (0)

TEST_LONG(drop, read)
{
	long long dropped = unmap_stat(DROPPED), entries = unmap_stat("drop_entries");

	START(.writes = false);
	EXPECT_LE(COPIES, unmap_stat(DROPPED) - dropped);
	EXPECT_LE(COPIES * PAGES, unmap_stat("drop_entries") - entries);
	EXPECT_GE(PAGES, sleeper_pages(&self->sleeper));
	EXPECT_GONE(COPIES);
}

TEST_LONG(drop, written)
{
	START(.writes = true);
	EXPECT_GONE(COPIES);
}

static char *place_of(char *mem, long page)
{
	return mem + page % COPIES * LEN + page * PAGE;
}

/*
 * Each page is written through one of the tables.  Shared memory that has only been read is
 * clean, and its entries may be written to: nothing but the dirty bits says that it was.
 */
static bool store_elsewhere(char *mem)
{
	bool is_shmem = !madvise(mem, LEN, MADV_REMOVE);

	for (long i = 0; is_shmem && i < PAGES; i++)
		CHECK(!READ_ONCE(*place_of(mem, i)));
	for (long i = 0; i < PAGES; i++)
		memset(place_of(mem, i), fill_byte(i, SEED + 1), PAGE);
	return true;
}

TEST_LONG(drop, stored)
{
	char *file;

	START(.prepare = store_elsewhere, .seed = SEED + 1);
	EXPECT_GE(self->before - COPIES, sleeper_tables(&self->sleeper));
	if (variant->kind == FILE_SHARED) {
		EXPECT_EQ(0, fsync(self->sleeper.fd));
		EXPECT_EQ(0, posix_fadvise(self->sleeper.fd, 0, 0, POSIX_FADV_DONTNEED));
	}
	if (variant->kind == SHMEM)
		reclaim_all(LEN);
	file = mmap(NULL, LEN, PROT_READ, MAP_SHARED, self->sleeper.fd, 0);
	ASSERT_NE(MAP_FAILED, file);
	EXPECT_EQ(0, count_wrong(file, LEN, SEED + 1));
	EXPECT_TRUE(sleeper_wake(&self->sleeper));
}

TEST_LONG(drop, private)
{
	START(.private = true);
	EXPECT_GONE(COPIES);
}

/* Of each second table a piece is not mapped; of the others a piece is mapped by another VMA. */
static bool cut(char *mem)
{
	for (long i = 0; i < COPIES; i += 2) {
		char *piece = mem + i * LEN + 16 * PAGE;

		CHECK(!munmap(piece, 16 * PAGE));
		CHECK(!mprotect(piece + LEN, 16 * PAGE, PROT_READ));
	}
	return true;
}

/* What is not mapped is not checked. */
static bool mend(char *mem)
{
	for (long i = 0; i < COPIES; i += 2) {
		char *piece = mem + i * LEN + 16 * PAGE;

		CHECK(mmap(piece, 16 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == piece);
		for (long page = 16; page < 32; page++)
			memset(mem + i * LEN + page * PAGE, fill_byte(page, SEED), PAGE);
	}
	return true;
}

TEST_LONG(drop, parts)
{
	START(.prepare = cut, .wake = mend);
	EXPECT_GONE(COPIES);
}

/* In the first table, the first page is mapped by the first two entries. */
static bool map_twice(char *mem)
{
	/* Of length 0: maps the same again. */
	CHECK(mremap(mem, 0, 15 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, mem + PAGE) == mem + PAGE);
	for (long i = 0; i < 15; i++)
		READ_ONCE(mem[(i + 1) * PAGE]);
	return true;
}

static bool map_once(char *mem)
{
	CHECK(!count_wrong(mem + PAGE, 15 * PAGE, SEED));
	return mremap(mem + LEN + PAGE, 0, 15 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		      mem + PAGE) == mem + PAGE;
}

/* Each of the pages counts as mapped by this mapping alone. */
static bool nobody_else_maps(int fd)
{
	char *mem = mmap(NULL, 16 * PAGE, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);

	CHECK(mem != MAP_FAILED);
	for (long i = 0; i < 16; i++)
		CHECK_EQ(1, page_mapcount(mem + i * PAGE));
	return !munmap(mem, 16 * PAGE);
}

TEST_LONG(drop, twice)
{
	START(.prepare = map_twice, .wake = map_once);
	EXPECT_TRUE(nobody_else_maps(self->sleeper.fd));
	EXPECT_GONE(COPIES);
}

TEST_LONG(drop, busy)
{
	long long busy = unmap_stat("drop_busy"), old = unmap_stat(OLD);
	long long dropped = unmap_stat(DROPPED);

	START(.runs = true);
	EXPECT_LT(busy, unmap_stat("drop_busy"));
	/* It uses none of them: where looks at them come late, on a busy host, they are old. */
	EXPECT_GE(unmap_stat(OLD) - old, unmap_stat(DROPPED) - dropped);
	EXPECT_TRUE(sleeper_wake(&self->sleeper));
}

/* Reclaim finds enough of this file at once, so that it does not become urgent. */
static int make_fodder(void)
{
	int fd = xfs_file_named("/mnt/drop_fodder", 16 * MIB, SEED, 4);

	unlink("/mnt/drop_fodder");
	return fd;
}

/* It does not become urgent, while there is fodder. */
static void reclaim_calmly(void)
{
	for (int i = 0; i < 20; i++)
		reclaim_file(16 * PAGE);
}

TEST_LONG(drop, share)
{
	/* Linux 7.3 sets dirty in entries that may be written to, if the folio is dirty. */
	const struct mapping mapping = {
		.kind = variant->kind, .kib = variant->kib, .readonly = true,
	};
	int fodder = make_fodder();

	if (fodder < 0)
		SKIP(return, "needs XFS at /mnt");
	ASSERT_TRUE(write_number(DROP_SHARE, 100));
	ASSERT_TRUE(starts(&self->sleeper, &mapping, &self->before));
	reclaim_file(16 * PAGE);
	EXPECT_LE(self->before - OWN, sleeper_tables(&self->sleeper));
	ASSERT_TRUE(write_number(DROP_SHARE, 0));
	usleep(2 * IDLE_MS * 1000);
	reclaim_calmly();
	close(fodder);
	EXPECT_GONE(COPIES / 2);
}

TEST_LONG(drop, sysv)
{
	/* Read-only: see "share". */
	const struct mapping mapping = { .sysv = true, .readonly = true };
	int fodder = make_fodder();

	if (variant->kind != SHMEM || variant->kib != 4 || fodder < 0)
		SKIP(return, "not for this kind of memory, or no XFS at /mnt");
	ASSERT_TRUE(write_number(DROP_SHARE, 0));
	ASSERT_TRUE(starts(&self->sleeper, &mapping, &self->before));
	reclaim_calmly();
	close(fodder);
	EXPECT_LE(self->before - OWN, sleeper_tables(&self->sleeper));
	EXPECT_TRUE(drop_slabs());
	EXPECT_GONE(COPIES);
}

TEST_LONG(drop, keeps_shm_locked)
{
	const struct mapping mapping = { .sysv = true, .shm_locked = true };

	if (variant->kind != SHMEM || variant->kib != 4)
		SKIP(return, "not for this kind of memory");
	ASSERT_TRUE(starts(&self->sleeper, &mapping, &self->before));
	EXPECT_TRUE(drop_slabs());
	EXPECT_STAYED;
}

TEST_LONG(drop, off)
{
	ASSERT_TRUE(write_number(UNMAP_SYSFS "enabled",
				 UNMAP_EVICT | UNMAP_DISCARD | UNMAP_TABLES));
	START(.writes = false);
	EXPECT_STAYED;
}

TEST_LONG(drop, keeps_reaped)
{
	struct scene scene = { .kind = variant->kind, .kib = variant->kib };

	if (variant->kind != SHMEM)
		SKIP(return, "reclaim empties tables of files before");
	EXPECT_TRUE(apart(keep_reaped, &scene));
}

static void expect_kept(struct __test_metadata *_metadata, struct sleeper *s,
			struct mapping mapping, bool (*prepare)(char *mem))
{
	long before;

	mapping.prepare = prepare;
	ASSERT_TRUE(starts(s, &mapping, &before));
	EXPECT_TRUE(drop_slabs());
	EXPECT_LE(before - OWN, sleeper_tables(s));
	EXPECT_TRUE(sleeper_wake(s));
}

static struct mapping mapping_of(enum kind kind, unsigned long kib, bool private)
{
	return (struct mapping){ .kind = kind, .kib = kib, .private = private };
}

#define KEEPS(name, how, private)							\
	TEST_LONG(drop, keeps_ ## name)							\
	{										\
		expect_kept(_metadata, &self->sleeper,					\
			    mapping_of(variant->kind, variant->kib, private), how);	\
	}

KEEPS(mlocked, keep_mlocked, false)
KEEPS(locked_on_fault, keep_locked_on_fault, false)
KEEPS(copied, keep_copied, true)
KEEPS(notified, keep_notified, false)

/* What the other VMA maps is to read like the file. */
static bool fill_beside(char *mem)
{
	for (long i = 0; i < COPIES; i++)
		memset(mem + (i + 1) * LEN - PAGE, fill_byte(PAGES - 1, SEED), PAGE);
	return true;
}

TEST_LONG(drop, keeps_beside_anon)
{
	START(.prepare = keep_beside_anon, .wake = fill_beside);
	EXPECT_STAYED;
}

TEST_LONG(drop, keeps_tracked)
{
	if (!soft_dirty_works())
		SKIP(return, "needs CONFIG_MEM_SOFT_DIRTY");
	START(.prepare = keep_tracked);
	EXPECT_STAYED;
}

TEST_LONG(drop, keeps_watched)
{
	if (variant->kind != SHMEM)
		SKIP(return, "userfaultfd does not watch this kind of memory");
	START(.prepare = keep_watched);
	EXPECT_STAYED;
}

TEST_LONG(drop, keeps_protected)
{
	if (variant->kind != SHMEM)
		SKIP(return, "userfaultfd does not watch this kind of memory");
	START(.prepare = keep_protected);
	EXPECT_STAYED;
}

TEST_LONG(drop, strays)
{
	struct scene scene = { .kind = variant->kind, .kib = variant->kib };
	long long looked = unmap_stat("drop_looked");

	ASSERT_TRUE(write_number(DROP_IDLE, 0));
	EXPECT_TRUE(apart(race_munmap, &scene));
	EXPECT_LE(RACE_TABLES, unmap_stat("drop_looked") - looked);
}

/* Races in a process that runs; tables of it must have gone. */
static void expect_race(struct __test_metadata *_metadata, struct scene scene, bool any_kind,
			long tables, bool (*race)(struct scene *scene))
{
	long long dropped = unmap_stat(DROPPED);

	if (!any_kind && scene.kind != SHMEM)
		SKIP(return, "not for this kind of memory");
	if ((race == race_collapsed || race == flush_collapsed) && !collapse_ignores_sysfs())
		SKIP(return, COLLAPSE_ASKS);
	ASSERT_TRUE(write_number(DROP_IDLE, 0));
	EXPECT_TRUE(apart(race, &scene));
	EXPECT_LE(tables, unmap_stat(DROPPED) - dropped);
}

#define RACE(name, race, any_kind, tables)						\
	TEST_LONG(drop, name)								\
	{										\
		struct scene scene = { .kind = variant->kind, .kib = variant->kib };	\
											\
		expect_race(_metadata, scene, any_kind, tables, race);			\
	}

RACE(watched, race_watched, false, RACE_WATCHED)
RACE(watched_minor, race_watched_minor, false, RACE_WATCHED)
RACE(punched, race_punched, true, RACE_TABLES)
RACE(flushed, flush_reader, true, RACE_TABLES)
RACE(collapsed, race_collapsed, false, RACE_TABLES)
RACE(flushed_collapsed, flush_collapsed, false, RACE_TABLES)
RACE(ends, race_ends, true, RACE_TABLES)
RACE(oom, race_oom, true, RACE_TABLES)
RACE(killed, race_killed, false, RACE_TABLES)

TEST_LONG(drop, race)
{
	struct scene scene = { .kind = variant->kind, .kib = variant->kib };
	unsigned long seed = from_env("DROP_SEED", time(NULL) * 1000003L + getpid());
	long long dropped = unmap_stat(DROPPED);

	TH_LOG("seed %lu", seed);
	race_seed(seed);
	ASSERT_TRUE(write_number(DROP_IDLE, 0));
	EXPECT_TRUE(apart(race_changes, &scene));
	EXPECT_LE(RACE_CHANGES, unmap_stat(DROPPED) - dropped);
}

/* A disk that is nearly full: what stock makes of it, and what becomes of it with the switch on. */

FIXTURE(drop_disk) {
	struct scene scene;
};

FIXTURE_VARIANT(drop_disk) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(drop_disk, 4);
SIZE_VARIANTS(drop_disk, 64);

FIXTURE_SETUP(drop_disk)
{
	const char *missing = disk_needs();

	if (!variant->on && getenv("UNMAP_ON_ONLY"))
		missing = "switched off, where UNMAP_ON_ONLY is set";
	if (!missing)
		missing = set_up(FILE_SHARED, variant->kib, 0);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(switch_all(variant->on));
	self->scene = (struct scene){ .kind = FILE_SHARED, .kib = variant->kib };
}

FIXTURE_TEARDOWN(drop_disk)
{
	tear_down();
}

TEST_LONG(drop_disk, full)
{
	long long dropped = unmap_stat(DROPPED);

	EXPECT_TRUE(apart(race_full_disk, &self->scene));
	dropped = unmap_stat(DROPPED) - dropped;
	EXPECT_LE(variant->on ? RACE_TABLES : 0, dropped);
	EXPECT_TRUE(variant->on || !dropped);
}

/* A victim of a task that drops tables, and gets little time for that. */

#define WINDOW		1000	/* microseconds: a table takes long on real machines */
#define QUOTA		"10000 100000"

FIXTURE(drop_throttled) {
	struct throttled throttled;
};

FIXTURE_SETUP(drop_throttled)
{
	const char *missing = set_up(SHMEM, 4, 0);

	if (missing)
		SKIP(return, "%s", missing);
	self->throttled.victim = drop_victim_job;
	self->throttled.counter = DROPPED;
	missing = latency_begin(&self->throttled, QUOTA);
	if (missing) {
		tear_down();
		SKIP(return, "%s", missing);
	}
	ASSERT_TRUE(write_number(DROP_SHARE, 0));
	table_window(WINDOW);
}

FIXTURE_TEARDOWN(drop_throttled)
{
	table_window(0);
	latency_end(&self->throttled);
	tear_down();
}

TEST_LONG(drop_throttled, victim)
{
	EXPECT_TRUE(latency_stays_low(&self->throttled, from_env("DROP_SECONDS", 4)));
}

/* A process that runs, and uses most of its tables. */

FIXTURE(drop_user) {
	struct mapping mapping;
	struct sleeper sleeper;
	long before;		/* its tables */
	long long old;		/* tables that were found old, before */
};

FIXTURE_VARIANT(drop_user) {
	enum kind kind;
	bool (*prepare)(char *mem);
};

/* Each table serves another VMA, too: accessed bits of that one say nothing. */
static bool read_ends_at_random(char *mem)
{
	for (long i = 1; i <= COPIES; i++)
		CHECK(!madvise(mem + i * LEN - PAGE, PAGE, MADV_RANDOM));
	return true;
}

FIXTURE_VARIANT_ADD(drop_user, shmem) { SHMEM };
FIXTURE_VARIANT_ADD(drop_user, file) { FILE_SHARED };
FIXTURE_VARIANT_ADD(drop_user, file_beside) { FILE_SHARED, read_ends_at_random };

/* What a process that runs does not use is seen where PMDs have accessed bits: not on arm64. */
static const char *user_lacks(void)
{
#ifdef __x86_64__
	return sysconf(_SC_NPROCESSORS_ONLN) < 2 ? "needs two CPUs" : NULL;
#else
	return "needs accessed bits in PMDs (x86)";
#endif
}

/* How the tables that are gone were judged: of a process that was found idle, all go. */
static void tell_looks(struct __test_metadata *_metadata)
{
	TH_LOG("since boot: %lld idle processes, %lld tables old, %lld young, %lld dropped",
	       unmap_stat("drop_mms") - unmap_stat("drop_busy"), unmap_stat(OLD),
	       unmap_stat("drop_young"), unmap_stat(DROPPED));
}

/* Share 100: the time for which tables must be unused is not cut. */
FIXTURE_SETUP(drop_user)
{
	const char *missing = user_lacks();

	if (!missing)
		missing = set_up(variant->kind, 4, OLD_MS);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(write_number(DROP_SHARE, 100));
	/* Not where the user runs: a switch between processes flushes the TLB. */
	use_cpu(0);
	self->mapping = (struct mapping){
		.kind = variant->kind, .kib = 4, .prepare = variant->prepare,
		.runs = true, .use = use_most,
	};
	self->old = unmap_stat(OLD);
	tell_looks(_metadata);
	ASSERT_TRUE(starts(&self->sleeper, &self->mapping, &self->before));
}

FIXTURE_TEARDOWN(drop_user)
{
	tell_looks(_metadata);
	tear_down();
}

/* A table that went although it is used would be back at once, and be found old again. */
#define EXPECT_MOST_STAYED								\
	do {										\
		EXPECT_LT(self->old, unmap_stat(OLD));					\
		EXPECT_GE(COPIES - USED + OWN, unmap_stat(OLD) - self->old);		\
		EXPECT_TRUE(sleeper_wake(&self->sleeper));				\
	} while (0)

TEST_LONG(drop_user, old)
{
	EXPECT_TRUE(let_age(self->sleeper.fd, false));
	EXPECT_LE(COPIES - USED, unmap_stat(OLD) - self->old);
	EXPECT_GONE(COPIES - USED);
}

/* More than reclaim looks at in one call, and nothing to drop behind the user. */
TEST_LONG(drop_user, many)
{
	EXPECT_TRUE(sleepers_start(MANY));
	EXPECT_TRUE(let_age(self->sleeper.fd, false));
	EXPECT_TRUE(sleepers_end(MANY));
	EXPECT_LE(COPIES - USED, unmap_stat(OLD) - self->old);
	EXPECT_GONE(COPIES - USED);
}

TEST_LONG(drop_user, recent)
{
	const char *list = variant->kind == SHMEM ? "active_anon" : "active_file";

	if (!mglru_set(0))
		TH_LOG("no MGLRU");
	EXPECT_GT(PAGES / 2, cgroup_stat(list) / (long long)PAGE);
	EXPECT_TRUE(let_age(self->sleeper.fd, false));
	EXPECT_LT(PAGES / 2, cgroup_stat(list) / (long long)PAGE);
	EXPECT_GONE(COPIES - USED);
}

TEST_LONG(drop_user, used)
{
	EXPECT_TRUE(let_age(self->sleeper.fd, false));
	EXPECT_MOST_STAYED;
}

TEST_LONG(drop_user, used_aged)
{
	if (variant->kind != FILE_SHARED || !mglru_set(7) || !mglru_can_age()) {
		EXPECT_TRUE(sleeper_wake(&self->sleeper));
		SKIP(return, "needs MGLRU, debugfs, and memory of a file");
	}
	EXPECT_TRUE(let_age(self->sleeper.fd, true));
	EXPECT_MOST_STAYED;
}

TEST_HARNESS_MAIN
