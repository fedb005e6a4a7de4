// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty page tables that are not given back at once: who gives them back, when, and which
 * task pays for it.
 *
 * busy_reclaimed  another process reclaims while threads hold the mmap lock all the time:
 *                 the tables are given back soon after
 * busy_punched    the same, when it punches a hole in shmem
 * busy_moved      UFFDIO_MOVE while threads hold the mmap lock all the time
 * busy_whole      MADV_DONTNEED of all that the tables map, at such a time: huge pages follow
 * alone           MADV_DONTNEED with only the VMA's lock (since Linux 6.18) at such a time, and
 *                 faults and mmap() in the same tables: contents are right, and tables are given
 *                 back
 * flipped         changing the policy from "pressure" to "eager" frees the kept tables
 * never_paused    "pressure": reclaim frees the tables of a process that goes on emptying others
 * moved           a process empties tables and moves to another control group: reclaim of
 *                 the first group frees them
 * orphaned        the same when the first group was removed: reclaim of its parent frees them
 * reborn          the same when another group was made then, which may get the id of the
 *                 first: the tables that this group empties are still found when the
 *                 process ends
 * tight           a group at its limit empties tables without end, and no process is killed
 * tight_kept      a group needs the memory that its kept tables take: reclaim frees them
 * tiny            a group of 4 MiB, which has nothing but tables that became empty a moment ago
 * tiny_pressure   the same with the policy "pressure"
 * many            reclaim of one group costs the same however many other groups there are.
 *                 Prints the times.  KEPT_GROUPS (20) and KEPT_PROCESSES (5, in each group)
 *                 set the numbers
 *
 * A task that may run for 1 or 10 ms in 100 ms (cpu.max) reclaims memory of another process for
 * KEPT_SECONDS (8).  That process measures its mmap() and munmap() meanwhile.  Giving page
 * tables back must not stall it for more than a tenth of the time:
 *
 * throttled.eager
 * throttled.pressure
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "parts/kept/kept.h"

#define WINDOW		100	/* microseconds, for each table: twenty times what it takes */
#define MORE_LEN	(16 * PMD)
#define TIME_LIMIT	600

static bool go_on_to_end(struct child *child)
{
	bool well = child_go_on(child) && child_wait(child);

	child_end(child);
	return well;
}

FIXTURE(kept) {
	long long freed;
	long long kept;		/* rises when a task cannot get the mmap lock to free tables */
};

FIXTURE_SETUP(kept)
{
	const char *missing = begin_with("eager");

	if (missing)
		SKIP(return, "%s", missing);
	self->freed = unmap_stat("tables_freed");
	self->kept = unmap_stat("tables_waited");
}

FIXTURE_TEARDOWN(kept)
{
	end();
}

TEST_LONG(kept, busy_reclaimed)
{
	struct crowd crowd = { .fd = -1 };
	struct child child;

	ASSERT_TRUE(child_start(&child, crowd_job, &crowd));
	ASSERT_TRUE(child_wait(&child));
	/* Frees the lazyfree pages only: the tables of the busy range stay in use. */
	reclaim_file(LEN);
	EXPECT_LE(NR_TABLES / 2, unmap_stat("tables_waited") - self->kept);
	EXPECT_TRUE(go_on_to_end(&child));
	EXPECT_LE(NR_TABLES - SLACK, unmap_stat("tables_freed") - self->freed);
}

TEST_LONG(kept, busy_punched)
{
	struct crowd crowd = { .fd = memfd_create("kept", MFD_CLOEXEC) };
	struct child child;

	ASSERT_LE(0, crowd.fd);
	ASSERT_EQ(0, ftruncate(crowd.fd, LEN));
	ASSERT_TRUE(child_start(&child, crowd_job, &crowd));
	ASSERT_TRUE(child_wait(&child));
	ASSERT_EQ(0, fallocate(crowd.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	EXPECT_LE(NR_TABLES / 2, unmap_stat("tables_waited") - self->kept);
	EXPECT_TRUE(go_on_to_end(&child));
	close(crowd.fd);
}

static bool move_pages_to(const struct crowd *crowd)
{
	for (size_t at = 0; at < LEN; at += PMD) {
		struct uffdio_move move = {
			.dst = (uintptr_t)crowd->to + at / PMD * PAGE,
			.src = (uintptr_t)crowd->mem + at, .len = PAGE,
		};

		while (ioctl(crowd->uffd, UFFDIO_MOVE, &move))
			CHECK(move.move == -EAGAIN);
	}
	return true;
}

/*
 * Each page is moved with the lock of its VMA alone.  Between two calls of the busy threads, the
 * tables may go at once: move until many had to be recorded.
 */
static bool move_until_kept(const struct crowd *crowd)
{
	long long enough = unmap_stat("tables_waited") + NR_TABLES;
	double end = now() + PATIENCE;

	while (unmap_stat("tables_waited") < enough && now() < end) {
		CHECK(!madvise(crowd->to, PMD, MADV_DONTNEED));
		fill_tables(crowd->mem, LEN);
		CHECK(move_pages_to(crowd));
		CHECK(busy_goes_on(1));
	}
	CHECK(unmap_stat("tables_waited") >= enough);
	return true;
}

static void move_job(struct child *child, void *arg)
{
	struct crowd *crowd = arg;
	bool done;

	crowd->to = map_tables(PMD, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	crowd->uffd = uffd_watch(crowd->to, PMD, UFFD_FEATURE_MOVE,
				 UFFDIO_REGISTER_MODE_MISSING);
	if (crowd->uffd < 0)
		_exit(1);
	done = crowd_make(crowd) && crowd_go(crowd) && move_until_kept(crowd);
	fflush(stdout);
	busy_end();
	/* The pages are in one more table now. */
	if (!done || !fall_to(getpid(), crowd->empty + 1 + SLACK))
		_exit(1);
	child_done(child);
}

TEST_LONG(kept, busy_moved)
{
	struct crowd crowd = { .fd = -1 };
	struct child child;

	ASSERT_TRUE(child_start(&child, move_job, &crowd));
	EXPECT_TRUE(child_wait(&child));
	child_end(&child);
}

#define HUGE_LEN	(16 * PMD)

/* Touch memory that small pages map, discard it at once, and touch it again. */
static bool discard_whole(char *mem)
{
	CHECK(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	fill_tables(mem, HUGE_LEN);
	CHECK_EQ(0, smaps_kib(mem, HUGE_LEN, "AnonHugePages"));
	CHECK(!prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0));
	CHECK(!madvise(mem, HUGE_LEN, MADV_DONTNEED));
	fill_tables(mem, HUGE_LEN);
	/* As where the lock is free: law 11. */
	CHECK_EQ(kernel_before(6, 18) ? 0 : HUGE_LEN / KIB,
		 smaps_kib(mem, HUGE_LEN, "AnonHugePages"));
	CHECK(!madvise(mem, HUGE_LEN, MADV_DONTNEED));
	return true;
}

static void discard_job(struct child *child, void *arg)
{
	struct crowd *crowd = arg;
	bool done = crowd_make(crowd) && !madvise(crowd->mem, LEN, MADV_DONTNEED) &&
		    crowd_go(crowd);

	for (int i = 0; i < 10 && done; i++)
		done = discard_whole(crowd->mem) && busy_goes_on(1);
	busy_end();
	if (!done)
		_exit(1);
	child_done(child);
}

/*
 * Since Linux 6.18 MADV_DONTNEED takes the lock of the VMA alone.  On x86 the mmu_gather then
 * frees whole tables; on arm64 (break-before-make) they wait for somebody who gets the mmap lock.
 */
static bool whole_tables_go_at_once(void)
{
	struct utsname name;

	return kernel_before(6, 18) || (!uname(&name) && !strcmp(name.machine, "x86_64"));
}

TEST_LONG(kept, busy_whole)
{
	struct crowd crowd = { .fd = -1 };
	struct child child;

	if (!whole_tables_go_at_once())
		SKIP(return, "the mmap lock is busy, and this mmu_gather frees no tables");
	if (!folio_size_set(PMD / KIB))
		SKIP(return, "needs transparent huge pages");
	ASSERT_TRUE(child_start(&child, discard_job, &crowd));
	EXPECT_TRUE(child_wait(&child));
	child_end(&child);
}

FIXTURE(vma_lock) {
	struct alone alone;
};

FIXTURE_VARIANT(vma_lock) {
	bool on;
};

FIXTURE_VARIANT_ADD(vma_lock, on) { .on = true };
FIXTURE_VARIANT_ADD(vma_lock, off) { .on = false };

FIXTURE_SETUP(vma_lock)
{
	const char *missing;

	if (kernel_before(6, 18))
		SKIP(return, "MADV_DONTNEED of this kernel holds the mmap lock");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	missing = variant->on ? begin_with("eager") : begin(4, false);
	if (missing)
		SKIP(return, "%s", missing);
	self->alone.on = variant->on;
}

FIXTURE_TEARDOWN(vma_lock)
{
	end();
}

TEST_LONG(vma_lock, alone)
{
	EXPECT_TRUE(apart(alone_job, &self->alone.scene));
}

static void empty_job(struct child *child, void *arg)
{
	const char *group = arg;
	char *mem;

	if (group && !group_enter(group, getpid()))
		_exit(1);
	mem = map_tables(LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	empty_tables(mem, LEN);
	child_says_done(child);
	pause();
}

TEST_LONG(kept, flipped)
{
	struct child child;
	long long full;

	if (!write_text(POLICY, "pressure"))
		SKIP(return, "no policy pressure");
	ASSERT_TRUE(child_start(&child, empty_job, NULL));
	ASSERT_TRUE(child_wait(&child));
	full = tables_of(child.pid);
	EXPECT_LT(NR_TABLES, full);
	ASSERT_TRUE(write_text(POLICY, "eager"));
	EXPECT_TRUE(fall_to(child.pid, full - NR_TABLES + SLACK));
	child_end(&child);
}

/* Empty many tables, and then some, one each millisecond, all the time. */
static void never_pause_job(struct child *child, void *arg)
{
	char *more = map_tables(MORE_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *mem = map_tables(LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	empty_tables(mem, LEN);
	child_says_done(child);
	for (size_t at = 0; ; at = (at + PMD) % MORE_LEN) {
		empty_tables(more + at, PMD);
		usleep(1000);
	}
}

TEST_LONG(kept, never_paused)
{
	struct child child;
	long long full;

	if (!write_text(POLICY, "pressure"))
		SKIP(return, "no policy pressure");
	ASSERT_TRUE(child_start(&child, never_pause_job, NULL));
	ASSERT_TRUE(child_wait(&child));
	full = tables_of(child.pid);
	EXPECT_LT(NR_TABLES, full);
	usleep(AGE);
	reclaim_all(MIB);
	/* Those that were emptied a moment ago stay; the others need not wait for a pause. */
	EXPECT_GE(full - NR_TABLES + MORE_LEN / PMD + SLACK, tables_of(child.pid));
	child_end(&child);
}

/* Control groups. */

FIXTURE(groups) {
	struct child child;
	long long full;
};

FIXTURE_SETUP(groups)
{
	const char *missing = begin_with("pressure");

	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(groups_make("+memory"));
	ASSERT_TRUE(group_make("/old"));
	ASSERT_TRUE(group_make("/new"));
	ASSERT_TRUE(child_start(&self->child, empty_job, "/old"));
	ASSERT_TRUE(child_wait(&self->child));
	self->full = tables_of(self->child.pid);
	ASSERT_LT(NR_TABLES, self->full);
	ASSERT_TRUE(group_enter("/new", self->child.pid));
	usleep(AGE);
}

FIXTURE_TEARDOWN(groups)
{
	child_end(&self->child);
	group_remove("/old");
	group_remove("/new");
	group_remove("");
	end();
}

TEST_LONG(groups, moved)
{
	group_write("/old", "memory.reclaim", "1M");
	EXPECT_GE(self->full - NR_TABLES + SLACK, tables_of(self->child.pid));
}

/* The charges of a group that was removed move to its parent a little later. */
static bool reclaim_parent_until(pid_t pid, long long tables)
{
	AWAIT((group_write("", "memory.reclaim", "1M"), tables_of(pid) <= tables));
	return true;
}

TEST_LONG(groups, orphaned)
{
	ASSERT_TRUE(group_remove("/old"));
	EXPECT_TRUE(reclaim_parent_until(self->child.pid, self->full - NR_TABLES + SLACK));
}

/* The id of a group is free a little after it was removed. */
TEST_LONG(groups, reborn)
{
	struct child child;
	long long full;

	ASSERT_TRUE(group_remove("/old"));
	sleep(2);
	ASSERT_TRUE(group_make("/old"));
	EXPECT_TRUE(child_start(&child, empty_job, "/old"));
	EXPECT_TRUE(child_wait(&child));
	full = tables_of(child.pid);
	EXPECT_LT(NR_TABLES, full);
	/* The end of the first process removes its record, from its own list. */
	child_end(&self->child);
	usleep(AGE);
	group_write("/old", "memory.reclaim", "1M");
	EXPECT_GE(full - NR_TABLES + SLACK, tables_of(child.pid));
	child_end(&child);
	/* For the teardown. */
	ASSERT_TRUE(child_start(&self->child, empty_job, NULL));
}

#define ROOM		(8 * MIB)
#define KEPT_LEN	(ROOM / 2 / PAGE * PMD)
#define TIMES		20	/* how often a group must have been at its limit */
#define TINY_TOUCHES	20000L

static long long times_at_limit(void)
{
	return read_field(GROUPS "/memory.events", "max ");
}

/* Half of the group's memory is in the tables of each round. */
static void empty_for_ever_job(struct child *child, void *arg)
{
	double end = now() + PATIENCE;
	char *mem;

	if (!group_enter("", getpid()))
		_exit(1);
	mem = map_tables(KEPT_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	while (times_at_limit() < TIMES && now() < end)
		empty_tables(mem, KEPT_LEN);
	child_done(child);
}

/* Tables that wait for their grace period stay charged, and cannot be reclaimed. */
static bool run_in_group(struct __test_metadata *_metadata, long long freed,
			 void (*job)(struct child *child, void *arg))
{
	struct child child;
	bool well;

	CHECK(child_start(&child, job, NULL));
	well = child_wait(&child);
	child_end(&child);
	TH_LOG("%lld tables given back, at the limit %lld times, %lld killed",
	       unmap_stat("tables_freed") - freed,
	       times_at_limit(),
	       read_field(GROUPS "/memory.events", "oom_kill "));
	return well;
}

TEST_LONG(kept, tight)
{
	ASSERT_TRUE(group_make(""));
	ASSERT_TRUE(group_write("", "memory.max", "8M"));
	EXPECT_TRUE(run_in_group(_metadata, self->freed, empty_for_ever_job));
	EXPECT_LE(TIMES, times_at_limit());
	EXPECT_EQ(0, read_field(GROUPS "/memory.events", "oom_kill "));
	group_remove("");
}

/* One page after the other is touched and dropped, each in a table of its own. */
static void touch_and_drop_job(struct child *child, void *arg)
{
	char *mem;

	if (!group_enter("", getpid()))
		_exit(1);
	mem = map_tables(TINY_TOUCHES * PMD, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (long i = 0; i < TINY_TOUCHES; i++)
		empty_tables(mem + i * PMD, PMD);
	child_done(child);
}

static void run_tiny(struct __test_metadata *_metadata, long long freed, const char *policy)
{
	if (!write_text(POLICY, policy))
		SKIP(return, "no policy %s", policy);
	ASSERT_TRUE(group_make(""));
	ASSERT_TRUE(group_write("", "memory.max", "4M"));
	group_write("", "memory.swap.max", "0");
	EXPECT_TRUE(run_in_group(_metadata, freed, touch_and_drop_job));
	EXPECT_EQ(0, read_field(GROUPS "/memory.events", "oom_kill "));
	group_remove("");
}

/* Nothing of the group can be reclaimed but tables that became empty a moment ago. */
TEST_LONG(kept, tiny)
{
	run_tiny(_metadata, self->freed, "eager");
}

TEST_LONG(kept, tiny_pressure)
{
	run_tiny(_metadata, self->freed, "pressure");
}

/* Half of the group's memory is in kept tables; then allocate three quarters of it. */
static void want_room_job(struct child *child, void *arg)
{
	char *mem;

	if (!group_enter("", getpid()))
		_exit(1);
	mem = map_tables(KEPT_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (size_t at = 0; at < KEPT_LEN; at += LEN)
		empty_tables(mem + at, LEN);
	if (read_field(GROUPS "/memory.current", "") < ROOM / 2)
		_exit(1);
	mem = map_tables(ROOM, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (size_t at = 0; at < ROOM / 4 * 3; at += PAGE)
		WRITE_ONCE(mem[at], 1);
	child_done(child);
}

TEST_LONG(kept, tight_kept)
{
	if (!write_text(POLICY, "pressure"))
		SKIP(return, "no policy pressure");
	ASSERT_TRUE(group_make(""));
	ASSERT_TRUE(group_write("", "memory.max", "8M"));
	group_write("", "memory.swap.max", "0");
	EXPECT_TRUE(run_in_group(_metadata, self->freed, want_room_job));
	EXPECT_EQ(0, read_field(GROUPS "/memory.events", "oom_kill "));
	group_remove("");
}

/* Many groups of many processes with kept tables. */

struct many {
	long groups, processes;	/* @processes in each group */
	pid_t *pids;
};

static bool many_start(struct many *many)
{
	char group[32];
	struct child child;

	for (long i = 0; i < many->groups * many->processes; i++) {
		snprintf(group, sizeof(group), "/%ld", i / many->processes);
		if (i % many->processes == 0)
			CHECK(group_make(group));
		CHECK(child_start(&child, empty_job, group));
		CHECK(child_wait(&child));
		many->pids[i] = child.pid;
		close(child.to);
		close(child.from);
	}
	return true;
}

static void many_end(struct many *many)
{
	char group[32];
	int status;

	for (long i = 0; i < many->groups * many->processes && many->pids[i]; i++) {
		kill(many->pids[i], SIGKILL);
		waitpid(many->pids[i], &status, 0);
	}
	for (long i = 0; i < many->groups; i++) {
		snprintf(group, sizeof(group), "/%ld", i);
		group_remove(group);
	}
}

/* Microseconds.  The group has nothing to reclaim but kept tables. */
static double reclaim_takes(void)
{
	double began = now();

	group_write("/one", "memory.reclaim", "64K");
	return (now() - began) * 1e6;
}

static double drop_takes(void)
{
	double began = now();

	write_text("/proc/sys/vm/drop_caches", "2");
	return (now() - began) * 1e6;
}

FIXTURE(crowds) {
	struct many many;
	struct child one;
};

FIXTURE_SETUP(crowds)
{
	const char *missing = begin_with("pressure");

	if (missing)
		SKIP(return, "%s", missing);
	if (!clock_is_exact()) {
		end();
		SKIP(return, CLOCK_INEXACT);
	}
	self->many.groups = from_env("KEPT_GROUPS", 20);
	self->many.processes = from_env("KEPT_PROCESSES", 5);
	self->many.pids = calloc(self->many.groups * self->many.processes, sizeof(pid_t));
	ASSERT_TRUE(groups_make("+memory"));
	ASSERT_TRUE(group_make("/one"));
}

FIXTURE_TEARDOWN(crowds)
{
	many_end(&self->many);
	group_remove("/one");
	group_remove("");
	free(self->many.pids);
	end();
}

TEST_LONG(crowds, many)
{
	double alone, beside, drop;

	ASSERT_TRUE(child_start(&self->one, empty_job, "/one"));
	ASSERT_TRUE(child_wait(&self->one));
	usleep(AGE);
	alone = reclaim_takes();
	child_end(&self->one);
	ASSERT_TRUE(many_start(&self->many));
	ASSERT_TRUE(child_start(&self->one, empty_job, "/one"));
	ASSERT_TRUE(child_wait(&self->one));
	usleep(AGE);
	beside = reclaim_takes();
	drop = drop_takes();
	TH_LOG("reclaim of one group: %.0f us alone, %.0f beside %ld groups of %ld", alone, beside,
	       self->many.groups, self->many.processes);
	TH_LOG("drop_caches of all: %.0f us", drop);
	child_end(&self->one);
	EXPECT_GT(alone * 5 / 4, beside);
}

FIXTURE(throttled) {
	struct throttled throttled;
};

/* With the policy "eager" the throttled task must come to reclaim: it gets more time. */
FIXTURE_VARIANT(throttled) {
	const char *policy, *quota;
};

FIXTURE_VARIANT_ADD(throttled, eager) { .policy = "eager", .quota = "10000 100000" };
FIXTURE_VARIANT_ADD(throttled, pressure) { .policy = "pressure", .quota = "1000 100000" };

FIXTURE_SETUP(throttled)
{
	const char *missing = begin_with(variant->policy);

	if (missing)
		SKIP(return, "%s", missing);
	self->throttled.victim = victim_job;
	self->throttled.counter = "tables_freed";
	missing = latency_begin(&self->throttled, variant->quota);
	if (missing) {
		end();
		SKIP(return, "%s", missing);
	}
	/* Tables take long to free on real machines: make it so here. */
	table_window(WINDOW);
}

FIXTURE_TEARDOWN(throttled)
{
	table_window(0);
	latency_end(&self->throttled);
	end();
}

TEST_LONG(throttled, throttled)
{
	EXPECT_TRUE(latency_stays_low(&self->throttled, from_env("KEPT_SECONDS", 8)));
}

TEST_HARNESS_MAIN
