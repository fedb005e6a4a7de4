// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control groups at their limit, and processes that exit while their memory is being
 * reclaimed.  After each test the control group must be charged with nothing, and the kernel
 * log must have no complaint ("BUG: Bad rss-counter", "BUG: Bad page state").
 *
 * memory_max      four processes use more lazyfree, anonymous and file memory than the limit
 *                 allows: no page is lost or mixed up, and no process is killed
 * oom_kill        a process that exceeds the limit is killed while its memory is reclaimed:
 *                 the OOM reaper races with unmapping; the other process keeps its pages
 * killed          SIGKILL at random times while two other processes reclaim
 * exits           the same for processes that exit by themselves, and share memory with a
 *                 child that runs on
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
#define WORKERS	4
#define MET	20	/* times that the group must be at its limit */
#define USES	(600 * KINDS)	/* of pages, by each worker */
#define KILLS	8
#define EXITS	4
/* Checking all pages while they are being reclaimed would take seconds. */
#define SAMPLE	8
#define LIMIT	"8388608"

/* What a control group may still be charged with: per-CPU stocks, slab objects in flight. */
#define LEFT	((long)MIB + 64 * (long)PAGE * sysconf(_SC_NPROCESSORS_ONLN))

FIXTURE(pressure) {
	struct scene scene;
	int log;
};

FIXTURE_VARIANT(pressure) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(pressure, 4);
SIZE_VARIANTS(pressure, 64);
SIZE_VARIANTS(pressure, 1024);

FIXTURE_SETUP(pressure)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	missing = scene_needs(FILE_SHARED);
	if (!missing)
		missing = scene_needs(ANON);
	if (missing) {
		end();
		SKIP(return, "%s", missing);
	}
	self->scene = (struct scene){ .kib = variant->kib, .len = LEN, .fd = -1 };
	self->log = kmsg_open();
	ASSERT_LE(0, self->log);
	/* This process is in the control group, and must not be killed. */
	ASSERT_TRUE(write_text("/proc/self/oom_score_adj", "-1000"));
}

FIXTURE_TEARDOWN(pressure)
{
	cgroup_write("memory.max", "max");
	cgroup_write("memory.swap.max", "max");
	EXPECT_TRUE(kernel_is_calm(self->log));
	EXPECT_GE(LEFT, cgroup_read("memory.current", "")) {
		TH_LOG("%lld KiB are still charged",
		       cgroup_read("memory.current", "") / (long)KIB);
	}
	close(self->log);
	end();
}

static unsigned long next(unsigned long *state)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return *state >> 33;
}

/* The words of a page are made from @value, which is different for each write. */
static void stamp(char *page, __u64 value)
{
	for (size_t i = 0; i < PAGE / sizeof(value); i += 64)
		WRITE_ONCE(((__u64 *)page)[i], value + i);
}

static bool is_stamped(const char *page, __u64 value)
{
	for (size_t i = 0; i < PAGE / sizeof(value); i += 64)
		if (READ_ONCE(((const __u64 *)page)[i]) != value + i)
			return false;
	return true;
}

#define KINDS	3
static const enum kind kinds[KINDS] = { ANON, LAZYFREE, FILE_SHARED };

struct area {
	enum kind kind;
	char *mem;
	__u64 written[PAGES];	/* stamps; zero: not written, or MADV_FREE'd since */
};

static bool map_area(struct area *area, enum kind kind, unsigned long kib)
{
	int fd = kind == FILE_SHARED ? xfs_file(LEN, 1, kib) : -1;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	memset(area, 0, sizeof(*area));
	area->kind = kind;
	area->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, flags, fd);
	if (fd >= 0)
		close(fd);
	return area->mem != MAP_FAILED;
}

/* Check a page and write it; now and then call MADV_FREE on some pages. */
static bool use_page(struct area *area, unsigned long *random)
{
	long i = next(random) % PAGES;
	char *page = area->mem + i * PAGE;

	if (area->written[i])
		CHECK(is_stamped(page, area->written[i]));
	area->written[i] = (__u64)next(random) << 20 | i << 10;
	stamp(page, area->written[i]);
	if (area->kind != LAZYFREE || next(random) % 64)
		return true;
	i = i / 16 * 16;
	memset(area->written + i, 0, 16 * sizeof(area->written[0]));
	CHECK(!madvise(area->mem + i * PAGE, 16 * PAGE, MADV_FREE));
	return true;
}

static bool check_every(const struct area *area, long step)
{
	for (long i = getpid() % step; i < PAGES; i += step)
		CHECK(!area->written[i] || is_stamped(area->mem + i * PAGE, area->written[i]));
	return true;
}

static bool check_all(const struct area *area)
{
	return check_every(area, 1);
}

static bool work(struct scene *scene)
{
	static struct area areas[KINDS];
	unsigned long random = getpid();

	use_cpu(getpid() % sysconf(_SC_NPROCESSORS_ONLN));
	for (int i = 0; i < KINDS; i++)
		CHECK(map_area(&areas[i], kinds[i], scene->kib));
	for (int i = 0; i < USES; i++)
		CHECK(use_page(&areas[i % KINDS], &random));
	for (int i = 0; i < KINDS; i++)
		CHECK(check_all(&areas[i]));
	return true;
}

TEST_LONG(pressure, memory_max)
{
	int pids[WORKERS], status;

	ASSERT_TRUE(cgroup_write("memory.max", LIMIT));
	for (int i = 0; i < WORKERS; i++)
		pids[i] = start_apart(work, &self->scene);
	for (int i = 0; i < WORKERS; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_LE(MET, cgroup_read("memory.events", "max "));
	EXPECT_EQ(0, cgroup_read("memory.events", "oom_kill "));
}

static bool stamp_all(struct area *area)
{
	for (long page = 0; page < PAGES; page++) {
		area->written[page] = (__u64)(area->kind + 1) << 32 | page << 10;
		stamp(area->mem + page * PAGE, area->written[page]);
	}
	return true;
}

/* Map areas of all kinds, and write every page. */
static bool populate(struct area areas[KINDS], unsigned long kib)
{
	for (int i = 0; i < KINDS; i++)
		CHECK(map_area(&areas[i], kinds[i], kib) && stamp_all(&areas[i]));
	memset(areas[1].written, 0, sizeof(areas[1].written));
	CHECK(!madvise(areas[1].mem, LEN, MADV_FREE));
	return true;
}

/* Allocate more and more; lazyfree and file memory gives reclaim something to do. */
static bool grow(struct scene *scene)
{
	static struct area areas[KINDS];

	write_text("/proc/self/oom_score_adj", "1000");
	use_cpu(1 % sysconf(_SC_NPROCESSORS_ONLN));
	CHECK(populate(areas, scene->kib));
	for (int i = 0; i < 64; i++)
		CHECK(map_area(&areas[0], ANON, scene->kib) && stamp_all(&areas[0]));
	return false;	/* the OOM killer should have killed this process */
}

/* Own memory that must not change while another process is killed. */
static bool survive(struct scene *scene)
{
	static struct area areas[KINDS];
	int status, pid;

	CHECK(populate(areas, scene->kib));
	for (int round = 0; round < 3; round++) {
		pid = start_apart(grow, scene);
		CHECK_EQ(pid, waitpid(pid, &status, 0));
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		for (int i = 0; i < KINDS; i++)
			CHECK(check_all(&areas[i]));
	}
	return true;
}

TEST_LONG(pressure, oom_kill)
{
	ASSERT_TRUE(cgroup_write("memory.max", "16777216"));
	ASSERT_TRUE(cgroup_write("memory.swap.max", "2097152"));
	EXPECT_TRUE(apart(survive, &self->scene));
	EXPECT_LE(3, cgroup_read("memory.events", "oom_kill "));
}

/* Populate memory, report that, and use it until killed. */
static bool victim(struct scene *scene)
{
	static struct area areas[KINDS];
	unsigned long random = getpid();
	char token = 0;

	use_cpu(1 % sysconf(_SC_NPROCESSORS_ONLN));
	CHECK(populate(areas, scene->kib));
	CHECK_EQ(1, write(scene->fd, &token, 1));
	for (;;)
		for (int i = 0; i < KINDS; i++)
			CHECK(use_page(&areas[i], &random));
}

/* Exit after a while, with memory that is shared with a child that lives longer. */
static bool leaver(struct scene *scene)
{
	static struct area areas[KINDS];
	char token = 0;
	int pid, status;

	CHECK(populate(areas, scene->kib));
	pid = fork();
	if (!pid) {
		usleep(20000 + getpid() % 7 * 5000);
		for (int i = 0; i < KINDS; i++)
			CHECK(check_every(&areas[i], SAMPLE));
		_exit(0);
	}
	CHECK_EQ(1, write(scene->fd, &token, 1));
	usleep(getpid() % 5 * 5000);
	if (getpid() % 2)
		return true;	/* the test reaps the orphan */
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	CHECK_EQ(0, status);
	return true;
}

/* Reclaim until killed, on another CPU than the victims. */
static int start_reclaimer(void)
{
	int pid = fork();

	if (pid)
		return pid;
	for (;;) {
		reclaim_file(LEN);
		reclaim_all(LEN / 4);
		usleep(2000);	/* let the victims get some memory */
	}
}

static void stop(int pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Start a process and wait until it has its memory.  Returns its pid. */
static int start_ready(struct __test_metadata *_metadata, struct scene *scene,
		       bool (*job)(struct scene *scene))
{
	int pipes[2], pid;
	char token;

	ASSERT_EQ(0, pipe(pipes));
	scene->fd = pipes[1];
	pid = start_apart(job, scene);
	ASSERT_LT(0, pid);
	close(pipes[1]);
	ASSERT_EQ(1, read(pipes[0], &token, 1));
	close(pipes[0]);
	return pid;
}

TEST_LONG(pressure, killed)
{
	int reclaimers[2] = { start_reclaimer(), start_reclaimer() };
	unsigned long random = variant->kib;
	int status, pid;

	for (int i = 0; i < KILLS; i++) {
		pid = start_ready(_metadata, &self->scene, victim);
		usleep(next(&random) % 40000);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(SIGKILL, status) {
			TH_LOG("the victim failed before it was killed");
		}
	}
	stop(reclaimers[0]);
	stop(reclaimers[1]);
}

TEST_LONG(pressure, exits)
{
	int reclaimers[2] = { start_reclaimer(), start_reclaimer() };
	int status, pid;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	for (int i = 0; i < EXITS; i++) {
		pid = start_ready(_metadata, &self->scene, leaver);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	stop(reclaimers[0]);
	stop(reclaimers[1]);
	while (wait(&status) > 0)
		EXPECT_EQ(0, status);	/* orphans */
}

TEST_HARNESS_MAIN
