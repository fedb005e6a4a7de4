// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty page tables that are not given back at once: who gives them back, when, and at
 * whose expense.
 *
 * busy_reclaimed  another process reclaims while threads keep the mmap lock: soon after
 * busy_punched    the same, when it punches a hole in shmem
 * busy_moved      UFFDIO_MOVE while threads keep the mmap lock
 * flipped         what the policy "pressure" has kept goes when it becomes "eager"
 * moved           a process that has moved to another control group: reclaim of the group
 *                 in which it emptied the tables takes them
 * orphaned        the same when that group has gone: reclaim of its parent takes them
 * tight           a group with little room empties tables without end, and nobody is killed
 * tight_kept      the same group wants the room that its kept tables take
 * many            what reclaim of one group costs does not depend on how many there are.
 *                 Prints it; KEPT_GROUPS and KEPT_PROCESSES (a group) say how many (20, 5).
 *                 Judged if they do: only where instructions are the clock it is exact
 *
 * Reclaim by a task that may run for 1 ms in 100 (cpu.max), for KEPT_SECONDS (8), of memory of
 * another one, whose mmap() and munmap() are measured meanwhile; the longest with page
 * tables given back is compared with the longest without:
 *
 * throttled.eager
 * throttled.pressure
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "fault_util.h"
#include "unmap_util.h"

#define POLICY		UNMAP_SYSFS "tables_policy"
#define WINDOW		1000	/* microseconds */
#define GROUPS		"/sys/fs/cgroup/kept"
#define NR_TABLES	64L
#define LEN		(NR_TABLES * PMD)
#define SLACK		2	/* tables that the program needs meanwhile */
#define AGE		100000	/* us: tables emptied of late are spared by reclaim */
#define SOON		20	/* tenths of a second, on a busy machine */
#define TIME_LIMIT	600

static const char *set_up(const char *policy)
{
	const char *missing = begin(4, true);

	if (missing)
		return missing;
	if (!switch_has(UNMAP_TABLES) || !write_text(POLICY, policy)) {
		end();
		return "this kernel gives no page tables back";
	}
	return NULL;
}

static void tear_down(void)
{
	write_text(POLICY, "eager");
	end();
}

static bool kept_by_policy(void)
{
	char text[40];

	return read_text(POLICY, text, sizeof(text)) && strstr(text, "[pressure]");
}

/* Tables of a process, in pages. */
static long long tables_of(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_field(path, "VmPTE:") * 1024 / (long long)PAGE;
}

static bool fall_to(pid_t pid, long long tables)
{
	for (int i = 0; i < SOON && tables_of(pid) > tables; i++)
		usleep(100000);
	if (tables_of(pid) > tables)
		printf("# %lld tables, not %lld\n", tables_of(pid), tables);
	return tables_of(pid) <= tables;
}

static char *map_tables(size_t len, int flags, int fd)
{
	return map_aligned(len, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd);
}

/* A page in each. */
static void fill_tables(char *mem, size_t len)
{
	for (size_t at = 0; at < len; at += PMD)
		WRITE_ONCE(mem[at], 1);
}

/* They are kept, or given back. */
static void fill_and_empty(char *mem, size_t len)
{
	fill_tables(mem, len);
	madvise(mem, len, MADV_DONTNEED);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Control groups of these tests, below one that they can be reclaimed with. */

static bool group_write(const char *group, const char *file, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), GROUPS "%s/%s", group, file);
	return write_text(path, text);
}

static bool group_make(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), GROUPS "%s", group);
	return !mkdir(path, 0755);
}

static bool group_remove(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), GROUPS "%s", group);
	return !rmdir(path);
}

static bool group_enter(const char *group, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return group_write(group, "cgroup.procs", text);
}

static bool groups_make(const char *controllers)
{
	return (write_text("/sys/fs/cgroup/cgroup.subtree_control", controllers) &&
		group_make("") && group_write("", "cgroup.subtree_control", controllers));
}

/* A child that does as it is told, and says when it has. */
struct child {
	pid_t pid;
	int to, from;		/* pipes; the child's own ends, in the child */
};

static bool child_start(struct child *child, void (*job)(struct child *child, void *arg),
			void *arg)
{
	int to[2], from[2];
	bool here;

	if (pipe(to) || pipe(from))
		return false;
	child->pid = fork();
	here = child->pid;
	child->to = here ? to[1] : to[0];
	child->from = here ? from[0] : from[1];
	/* Whose end the other one has is told by the end of its pipes. */
	close(here ? to[0] : to[1]);
	close(here ? from[1] : from[0]);
	if (here)
		return child->pid > 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	job(child, arg);
	_exit(0);
}

/* By the child: done. */
static void child_says_done(struct child *child)
{
	char token = 0;

	if (write(child->from, &token, 1) != 1)
		_exit(1);
}

/* And waits for what comes next. */
static void child_done(struct child *child)
{
	char token;

	child_says_done(child);
	if (read(child->to, &token, 1) != 1)
		_exit(1);
}

static bool child_wait(struct child *child)
{
	char token;

	return read(child->from, &token, 1) == 1;
}

static bool child_go_on(struct child *child)
{
	char token = 0;

	return write(child->to, &token, 1) == 1;
}

static void child_end(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	waitpid(child->pid, &status, 0);
	close(child->to);
	close(child->from);
}

/* Threads that keep the mmap lock: one of them holds it for writing, the other waits. */

#define BUSY_LEN	(128 * MIB)

static struct {
	pthread_t threads[2];
	char *mem;
	bool stop;
} busy;

static void *keep_lock(void *arg)
{
	int prot = PROT_READ;

	while (!READ_ONCE(busy.stop)) {
		mprotect(busy.mem, BUSY_LEN, prot);
		prot ^= PROT_WRITE;
	}
	return NULL;
}

static bool busy_begin(void)
{
	CHECK(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	busy.mem = map_tables(BUSY_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	busy.stop = false;
	CHECK(busy.mem != MAP_FAILED);
	/* The zero page will do. */
	for (size_t at = 0; at < BUSY_LEN; at += PAGE)
		READ_ONCE(busy.mem[at]);
	return true;
}

static bool busy_go(void)
{
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&busy.threads[i], NULL, keep_lock, NULL));
	return true;
}

static void busy_end(void)
{
	WRITE_ONCE(busy.stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(busy.threads[i], NULL);
}

/* Tables of a process that keeps its own mmap lock. */

struct crowd {
	int fd;			/* a file that is mapped; -1: anonymous memory */
	int uffd;
	char *mem, *to;
	long long empty;	/* tables without those of @mem */
};

static bool crowd_make(struct crowd *crowd)
{
	int flags = crowd->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	CHECK(busy_begin());
	crowd->mem = map_tables(LEN, flags, crowd->fd);
	CHECK(crowd->mem != MAP_FAILED);
	/* The upper levels are there, and stay. */
	WRITE_ONCE(crowd->mem[0], 1);
	crowd->empty = tables_of(getpid()) - 1;
	fill_tables(crowd->mem, LEN);
	CHECK(tables_of(getpid()) >= crowd->empty + NR_TABLES);
	return true;
}

static void crowd_job(struct child *child, void *arg)
{
	struct crowd *crowd = arg;
	bool done = crowd_make(crowd);

	if (done && crowd->fd < 0)
		done = !madvise(crowd->mem, LEN, MADV_FREE);
	done = done && busy_go();
	if (!done)
		_exit(1);
	usleep(100000);
	child_done(child);
	/* Others have emptied the tables. */
	busy_end();
	if (!fall_to(getpid(), crowd->empty + SLACK))
		_exit(1);
	child_done(child);
}

static bool go_on_to_end(struct child *child)
{
	bool well = child_go_on(child) && child_wait(child);

	child_end(child);
	return well;
}

FIXTURE(kept) {
	long long freed;
};

FIXTURE_SETUP(kept)
{
	const char *missing = set_up("eager");

	if (missing)
		SKIP(return, "%s", missing);
	self->freed = unmap_stat("tables_freed");
}

FIXTURE_TEARDOWN(kept)
{
	tear_down();
}

TEST_F(kept, busy_reclaimed)
{
	struct crowd crowd = { .fd = -1 };
	struct child child;

	ASSERT_TRUE(child_start(&child, crowd_job, &crowd));
	ASSERT_TRUE(child_wait(&child));
	/* Not the busy one's own tables: they are in use. */
	reclaim_file(LEN);
	EXPECT_TRUE(go_on_to_end(&child));
	EXPECT_LE(NR_TABLES - SLACK, unmap_stat("tables_freed") - self->freed);
}

TEST_F(kept, busy_punched)
{
	struct crowd crowd = { .fd = memfd_create("kept", MFD_CLOEXEC) };
	struct child child;

	ASSERT_LE(0, crowd.fd);
	ASSERT_EQ(0, ftruncate(crowd.fd, LEN));
	ASSERT_TRUE(child_start(&child, crowd_job, &crowd));
	ASSERT_TRUE(child_wait(&child));
	ASSERT_EQ(0, fallocate(crowd.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
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

static void move_job(struct child *child, void *arg)
{
	struct crowd *crowd = arg;
	bool done;

	crowd->to = map_tables(PMD, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	crowd->uffd = uffd_watch(crowd->to, PMD, UFFD_FEATURE_MOVE,
				 UFFDIO_REGISTER_MODE_MISSING);
	if (crowd->uffd < 0)
		_exit(1);
	done = crowd_make(crowd) && busy_go() && move_pages_to(crowd);
	busy_end();
	/* One more for where they are now. */
	if (!done || !fall_to(getpid(), crowd->empty + 1 + SLACK))
		_exit(1);
	child_done(child);
}

TEST_F(kept, busy_moved)
{
	struct crowd crowd = { .fd = -1 };
	struct child child;

	ASSERT_TRUE(child_start(&child, move_job, &crowd));
	EXPECT_TRUE(child_wait(&child));
	child_end(&child);
}

/* Empties tables, which are kept. */
static void empty_job(struct child *child, void *arg)
{
	const char *group = arg;
	char *mem;

	if (group && !group_enter(group, getpid()))
		_exit(1);
	mem = map_tables(LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	fill_and_empty(mem, LEN);
	child_says_done(child);
	pause();
}

TEST_F(kept, flipped)
{
	struct child child;
	long long full;

	ASSERT_TRUE(write_text(POLICY, "pressure"));
	ASSERT_TRUE(child_start(&child, empty_job, NULL));
	ASSERT_TRUE(child_wait(&child));
	full = tables_of(child.pid);
	EXPECT_LT(NR_TABLES, full);
	ASSERT_TRUE(write_text(POLICY, "eager"));
	EXPECT_TRUE(fall_to(child.pid, full - NR_TABLES + SLACK));
	child_end(&child);
}

/* Control groups. */

FIXTURE(groups) {
	struct child child;
	long long full;
};

FIXTURE_SETUP(groups)
{
	const char *missing = set_up("pressure");

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
	tear_down();
}

TEST_F(groups, moved)
{
	group_write("/old", "memory.reclaim", "1M");
	EXPECT_GE(self->full - NR_TABLES + SLACK, tables_of(self->child.pid));
}

TEST_F(groups, orphaned)
{
	ASSERT_TRUE(group_remove("/old"));
	/* What the group had becomes its parent's a little later. */
	for (int i = 0; i < SOON && tables_of(self->child.pid) >= self->full; i++) {
		usleep(AGE);
		group_write("", "memory.reclaim", "1M");
	}
	EXPECT_GE(self->full - NR_TABLES + SLACK, tables_of(self->child.pid));
}

static void empty_for_ever_job(struct child *child, void *arg)
{
	double end = now() + 2;
	char *mem;

	if (!group_enter("", getpid()))
		_exit(1);
	mem = map_tables(LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	while (now() < end)
		fill_and_empty(mem, LEN);
	child_done(child);
}

static void show_events(struct __test_metadata *_metadata, long long freed)
{
	TH_LOG("%lld tables given back, at the limit %lld times, %lld killed", freed,
	       read_field(GROUPS "/memory.events", "max "),
	       read_field(GROUPS "/memory.events", "oom_kill "));
}

/* Tables that wait for their grace period are charged, and cannot be reclaimed. */
TEST_F(kept, tight)
{
	struct child child;
	bool well;

	ASSERT_TRUE(group_make(""));
	ASSERT_TRUE(group_write("", "memory.max", "8M"));
	ASSERT_TRUE(child_start(&child, empty_for_ever_job, NULL));
	well = child_wait(&child);
	child_end(&child);
	show_events(_metadata, unmap_stat("tables_freed") - self->freed);
	EXPECT_EQ(0, read_field(GROUPS "/memory.events", "oom_kill "));
	EXPECT_TRUE(well);
	group_remove("");
}

#define ROOM		(8 * MIB)
#define KEPT_LEN	(ROOM / 2 / PAGE * PMD)

/* Has half of its room kept in tables, and wants nearly all of it. */
static void want_room_job(struct child *child, void *arg)
{
	char *mem;

	if (!group_enter("", getpid()))
		_exit(1);
	mem = map_tables(KEPT_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (size_t at = 0; at < KEPT_LEN; at += LEN)
		fill_and_empty(mem + at, LEN);
	usleep(AGE);
	mem = map_tables(ROOM, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (size_t at = 0; at < ROOM / 4 * 3; at += PAGE)
		WRITE_ONCE(mem[at], 1);
	child_done(child);
}

TEST_F(kept, tight_kept)
{
	struct child child;
	bool well;

	ASSERT_TRUE(write_text(POLICY, "pressure"));
	ASSERT_TRUE(group_make(""));
	ASSERT_TRUE(group_write("", "memory.max", "8M"));
	group_write("", "memory.swap.max", "0");
	ASSERT_TRUE(child_start(&child, want_room_job, NULL));
	well = child_wait(&child);
	child_end(&child);
	show_events(_metadata, unmap_stat("tables_freed") - self->freed);
	EXPECT_TRUE(well);
	group_remove("");
}

/* Many groups of many processes, all of which have kept tables. */

struct many {
	long groups, processes;	/* so many in each */
	pid_t *pids;
};

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 0) : otherwise;
}

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

/* Microseconds; there is nothing to be had in that group but what it has kept. */
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
	const char *missing = set_up("pressure");

	if (missing)
		SKIP(return, "%s", missing);
	self->many.groups = number("KEPT_GROUPS", 20);
	self->many.processes = number("KEPT_PROCESSES", 5);
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
	tear_down();
}

TEST_F_TIMEOUT(crowds, many, TIME_LIMIT)
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
	/* Where instructions are the clock; elsewhere it hangs on what else the machine does. */
	if (getenv("KEPT_PROCESSES"))
		EXPECT_GT(alone * 5 / 4, beside);
}

/*
 * A victim with memory in many page tables, and a task of another group of processor time,
 * which reclaims that memory.  The victim has a thread that measures.
 */

#define VICTIM_TABLES	512L
#define VICTIM_LEN	(VICTIM_TABLES * PMD)
#define DECADES		7	/* below 10 us, 100 us, ... */

struct latency {
	long nr[DECADES];
	double longest;		/* seconds */
	bool stop;
};

struct victim {
	struct latency *latency;	/* shared with who looks at it */
	char *mem;
};

static void note_latency(struct latency *l, double seconds)
{
	double bound = 1e-5;
	int i;

	for (i = 0; i < DECADES - 1 && seconds >= bound; i++)
		bound *= 10;
	l->nr[i]++;
	l->longest = seconds > l->longest ? seconds : l->longest;
}

/* Of a kind that does not become one with its neighbours, whose anon_vma it would lock. */
static void *map_and_unmap(void *arg)
{
	struct victim *victim = arg;
	double began;
	void *mem;

	while (!READ_ONCE(victim->latency->stop)) {
		began = now();
		mem = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(mem, PAGE);
		note_latency(victim->latency, now() - began);
		usleep(500);
	}
	return NULL;
}

/* Fills tables with memory that reclaim drops, or empties them itself. */
static void victim_job(struct child *child, void *arg)
{
	struct victim *victim = arg;
	bool eager = !switch_has(UNMAP_TABLES) || !kept_by_policy();
	pthread_t thread;

	use_cpu(0);
	if (!group_enter("/victim", getpid()) ||
	    pthread_create(&thread, NULL, map_and_unmap, victim))
		_exit(1);
	victim->mem = map_tables(VICTIM_LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	child_says_done(child);
	while (!READ_ONCE(victim->latency->stop)) {
		fill_tables(victim->mem, VICTIM_LEN);
		madvise(victim->mem, VICTIM_LEN, eager ? MADV_FREE : MADV_DONTNEED);
		usleep(100000);
	}
	pthread_join(thread, NULL);
	child_says_done(child);
}

static void reclaim_job(struct child *child, void *arg)
{
	use_cpu(1);
	if (!group_enter("/throttled", getpid()))
		_exit(1);
	child_says_done(child);
	for (;;) {
		group_write("/victim", "memory.reclaim", "4M swappiness=0");
		/* Beside others' tables, it wants those of its own. */
		sched_yield();
	}
}

static bool measure(struct latency *l, double seconds)
{
	struct victim victim = { .latency = l };
	struct child child, other;

	memset(l, 0, sizeof(*l));
	CHECK(child_start(&child, victim_job, &victim) && child_wait(&child));
	CHECK(child_start(&other, reclaim_job, NULL) && child_wait(&other));
	usleep(seconds * 1e6);
	WRITE_ONCE(l->stop, true);
	/* Whoever holds the victim's lock may take seconds to let it go. */
	CHECK(child_wait(&child));
	child_end(&other);
	child_end(&child);
	return true;
}

static void show_latency(struct __test_metadata *_metadata, const char *name,
			 const struct latency *l)
{
	char line[160];
	int len = 0;

	for (int i = 0; i < DECADES; i++)
		len += snprintf(line + len, sizeof(line) - len, " %ld", l->nr[i]);
	TH_LOG("%s: longest %.1f ms; below 10 us, 100 us, ...:%s", name, l->longest * 1e3, line);
}

FIXTURE(throttled) {
	struct latency *on, *off;
};

FIXTURE_VARIANT(throttled) {
	const char *policy;
};

FIXTURE_VARIANT_ADD(throttled, eager) { .policy = "eager" };
FIXTURE_VARIANT_ADD(throttled, pressure) { .policy = "pressure" };

FIXTURE_SETUP(throttled)
{
	const char *missing = set_up(variant->policy);

	if (missing)
		SKIP(return, "%s", missing);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	if (!groups_make("+cpu +memory"))
		SKIP(return, "needs CONFIG_CFS_BANDWIDTH");
	ASSERT_TRUE(group_make("/victim"));
	ASSERT_TRUE(group_make("/throttled"));
	ASSERT_TRUE(group_write("/throttled", "cpu.max", "1000 100000"));
	self->on = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->on);
	self->off = self->on + 1;
	/* What takes long on real machines does here, too. */
	open_window(WINDOW);
}

FIXTURE_TEARDOWN(throttled)
{
	open_window(0);
	munmap(self->on, PAGE);
	group_remove("/victim");
	group_remove("/throttled");
	group_remove("");
	tear_down();
}

TEST_F_TIMEOUT(throttled, throttled, TIME_LIMIT)
{
	double seconds = number("KEPT_SECONDS", 8);

	EXPECT_TRUE(measure(self->on, seconds));
	ASSERT_TRUE(switch_all(false));
	EXPECT_TRUE(measure(self->off, seconds));
	show_latency(_metadata, "given back", self->on);
	show_latency(_metadata, "not", self->off);
	EXPECT_GT(2 * self->off->longest + 0.1, self->on->longest);
}

TEST_HARNESS_MAIN
