// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes that exit with all their memory mapped.
 *
 * exits_large    256 MiB (or UNMAP_ENDS_MIB) of one kind: the exit leaves no counter
 *                behind (law 4), and takes less than a minute
 * released       a killed process is stopped before its exit, and process_mrelease() frees
 *                its memory
 * reaped         the same with the OOM reaper
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
#define LONGEST		60	/* seconds for an exit */
#define USUAL_MIB	256
#define SETTLE_TRIES	50
#define FLUSH_TRIES	50	/* of 100 ms */

/* Each CPU may hold back a batch of a counter's changes. */
#define SLACK	((long)(64 * sysconf(_SC_NPROCESSORS_ONLN)))

/* Much of one kind. */

enum content { ANONYMOUS, SHMEM_ONLY, FILE_ONLY, SWAPPED };

enum counter { NR_ANON, NR_MAPPED, NR_SHMEM, NR_TABLES, NR_SWAPPED, NR_COUNTERS };

static const char * const counter_names[NR_COUNTERS] = {
	"nr_anon_pages", "nr_mapped", "nr_shmem", "nr_page_table_pages", "swapped",
};

struct counters {
	long long at[NR_COUNTERS];
};

/* In pages.  stat_refresh first adds what per-CPU counters hold back. */
static void read_counters(struct counters *counters)
{
	long long total = read_field("/proc/meminfo", "SwapTotal:") * 1024 / (long long)PAGE;

	write_text("/proc/sys/vm/stat_refresh", "1");
	for (int i = 0; i < NR_SWAPPED; i++)
		counters->at[i] = vmstat(counter_names[i]);
	counters->at[NR_SWAPPED] = total - swap_free_pages();
}

/* Per-CPU caches of swap slots hold free slots and freed ones. */
static long allowed(enum counter counter)
{
	return counter == NR_SWAPPED ? 2 * SLACK : SLACK;
}

static bool are_back(const struct counters *before, const struct counters *now)
{
	for (int i = 0; i < NR_COUNTERS; i++)
		if (now->at[i] - before->at[i] > allowed(i))
			return false;
	return true;
}

/* RCU and workers free some memory a little later. */
static void settle(const struct counters *before, struct counters *now)
{
	for (int i = 0; i < SETTLE_TRIES; i++) {
		read_counters(now);
		if (are_back(before, now))
			return;
		usleep(100000);
	}
}

static size_t wanted_bytes(void)
{
	return from_env("UNMAP_ENDS_MIB", USUAL_MIB) * MIB / PMD * PMD;
}

static bool has_free(size_t bytes)
{
	return read_field("/proc/meminfo", "MemAvailable:") * 1024 >= (long long)bytes;
}

/* A file of @len bytes, all holes, without a name. */
static int open_empty(enum content content, size_t len)
{
	int fd = content == FILE_ONLY ? xfs_file(PAGE, 1, 4) : memfd_create("ends", MFD_CLOEXEC);

	return fd >= 0 && !ftruncate(fd, len) ? fd : -1;
}

/* Populate memory and stop; the parent kills this process. */
static void hold(enum content content, size_t len)
{
	bool mapped = content == SHMEM_ONLY || content == FILE_ONLY;
	int fd = mapped ? open_empty(content, len) : -1;
	char *mem = map_aligned(len, PROT_READ | PROT_WRITE,
				mapped ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd);

	if (mem == MAP_FAILED || (content == FILE_ONLY && madvise(mem, len, MADV_POPULATE_READ)))
		_exit(1);
	for (size_t i = 0; i < len / PAGE; i++)
		if (content != FILE_ONLY || i % 16 == 0)
			WRITE_ONCE(*(size_t *)(mem + i * PAGE), i + 1);
	if (content == SWAPPED)
		madvise(mem, len, MADV_PAGEOUT);
	raise(SIGSTOP);
	_exit(1);
}

static pid_t start_holding(enum content content, size_t len)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		hold(content, len);
	return pid > 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) ? pid : -1;
}

static double seconds_to_end(pid_t pid)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
}

FIXTURE(large) {
	size_t len;
	int log;
};

FIXTURE_VARIANT(large) {
	enum content content;
	enum counter counter;
	unsigned long kib;
	bool on;
};

#define LARGE(name, what, counts, size)						\
	FIXTURE_VARIANT_ADD(large, name ## _ ## size ## K_on) {			\
		.content = what, .counter = counts, .kib = size, .on = true };	\
	FIXTURE_VARIANT_ADD(large, name ## _ ## size ## K_off) {		\
		.content = what, .counter = counts, .kib = size }

LARGE(anon, ANONYMOUS, NR_ANON, 4);
LARGE(anon, ANONYMOUS, NR_ANON, 64);
LARGE(shmem, SHMEM_ONLY, NR_SHMEM, 64);
LARGE(file, FILE_ONLY, NR_MAPPED, 64);
LARGE(swapped, SWAPPED, NR_SWAPPED, 64);

/* NULL, or what the machine lacks. */
static const char *large_needs(enum content content, size_t *len)
{
	if (content == FILE_ONLY && scene_needs(FILE_SHARED))
		return scene_needs(FILE_SHARED);
	if (content == SWAPPED) {
		if (!swap_is_on())
			return "needs swap";
		if (*len > swap_free_pages() * PAGE / 2)
			*len = swap_free_pages() * PAGE / 2 / PMD * PMD;
	}
	return has_free(2 * *len) ? NULL : "needs twice as much free memory";
}

FIXTURE_SETUP(large)
{
	const char *missing;

	self->len = wanted_bytes();
	missing = large_needs(variant->content, &self->len);
	if (!missing)
		missing = begin(variant->kib, variant->on);
	if (missing)
		SKIP(return, "%s", missing);
	self->log = kmsg_open();
}

FIXTURE_TEARDOWN(large)
{
	close(self->log);
	end();
}

TEST_LONG(large, exits_large)
{
	struct counters before, during, after;
	double seconds;
	pid_t pid;

	read_counters(&before);
	pid = start_holding(variant->content, self->len);
	ASSERT_LT(0, pid);
	read_counters(&during);
	/* Reclaim may not have swapped out every page. */
	EXPECT_LT((long long)(self->len / PAGE) * 3 / 4,
		  during.at[variant->counter] - before.at[variant->counter]);
	seconds = seconds_to_end(pid);
	settle(&before, &after);
	for (int i = 0; i < NR_COUNTERS; i++) {
		EXPECT_GE(allowed(i), after.at[i] - before.at[i]) {
			TH_LOG("%s", counter_names[i]);
		}
	}
	EXPECT_GT(LONGEST, seconds);
	EXPECT_TRUE(kernel_is_calm(self->log));
	TH_LOG("%zu MiB were freed in %.2f s", self->len / MIB, seconds);
}

/* A process that was killed, but does not exit: its tracer stops it at PTRACE_EVENT_EXIT. */

#define LEN		RANGE
#define PAGES		((long)(LEN / PAGE))
#define SEED		41
#define OTHER		42
#define HUNGRY		(256 * MIB)
#define REAPER_TRIES	200	/* tenths of a second; it waits for two seconds */

struct victim {
	char *inherited;	/* anonymous memory, from before the fork */
	char *shared;		/* shmem, mapped by both */
	int shmem, file;
	int told[2], go[2];
	pid_t pid;
};

FIXTURE(killed) {
	struct victim victim;
	int log;
};

FIXTURE_VARIANT(killed) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(killed, 4);
SIZE_VARIANTS(killed, 64);

/* NULL, or what the machine lacks. */
static const char *prepare(struct victim *victim, unsigned long kib)
{
	victim->file = xfs_file(LEN, SEED, kib);
	victim->shmem = memfd_create("ends", MFD_CLOEXEC);
	if (victim->file < 0 || !swap_is_on())
		return "needs XFS at /mnt, and swap";
	if (ftruncate(victim->shmem, LEN) || pipe(victim->told) || pipe(victim->go))
		return "no memory";
	victim->shared = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, victim->shmem);
	victim->inherited = map_aligned(LEN, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1);
	fill(victim->shared, LEN, SEED);
	fill(victim->inherited, LEN, SEED);
	return NULL;
}

FIXTURE_SETUP(killed)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	missing = prepare(&self->victim, variant->kib);
	if (missing) {
		end();
		SKIP(return, "%s", missing);
	}
	/* The OOM killer must pick the child. */
	ASSERT_TRUE(write_text("/proc/self/oom_score_adj", "-1000"));
	self->log = kmsg_open();
}

FIXTURE_TEARDOWN(killed)
{
	cgroup_write("memory.max", "max");
	cgroup_write("memory.swap.max", "max");
	EXPECT_TRUE(kernel_is_calm(self->log));
	close(self->log);
	end();
}

/* Map memory of each kind: shared with the parent, private, swapped out. */
static bool take_memory(struct victim *victim)
{
	char *own = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *copied = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, victim->file);

	if (own == MAP_FAILED || copied == MAP_FAILED)
		return false;
	fill(own, LEN, OTHER);
	fill(copied, LEN / 2, OTHER);
	fill(victim->inherited, LEN / 2, OTHER);
	return !madvise(own, LEN / 4, MADV_PAGEOUT) &&
	       !madvise(copied, LEN, MADV_POPULATE_READ) &&
	       !madvise(victim->inherited, LEN, MADV_POPULATE_READ) &&
	       !madvise(victim->shared, LEN, MADV_POPULATE_READ);
}

/* Never returns. */
static void be_killed(struct victim *victim, bool hungry)
{
	char *mem, byte = 0;

	if (read(victim->go[0], &byte, 1) != 1 || !take_memory(victim) ||
	    write(victim->told[1], &byte, 1) != 1 || read(victim->go[0], &byte, 1) != 1)
		_exit(1);
	mem = map_aligned(HUNGRY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	for (size_t i = 0; hungry && mem != MAP_FAILED && i < HUNGRY; i += PAGE)
		WRITE_ONCE(mem[i], 1);
	for (;;)
		pause();
}

static bool tell(int fd)
{
	return write(fd, "", 1) == 1;
}

/* Start the victim, and wait until it has its memory. */
static bool start_victim(struct victim *victim, bool hungry)
{
	char byte;

	victim->pid = fork();
	if (!victim->pid) {
		write_text("/proc/self/oom_score_adj", "1000");
		be_killed(victim, hungry);
	}
	CHECK(victim->pid > 0);
	CHECK(!ptrace(PTRACE_SEIZE, victim->pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL));
	CHECK(tell(victim->go[1]));
	CHECK(read(victim->told[0], &byte, 1) == 1);
	return true;
}

/* Wait until the victim is stopped at its exit, with its memory still mapped. */
static bool is_at_exit(pid_t pid)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
	       status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
}

static bool let_go(pid_t pid)
{
	int status;

	return !ptrace(PTRACE_CONT, pid, NULL, NULL) && waitpid(pid, &status, 0) == pid &&
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static long victims_pages(pid_t pid, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_field(path, name) * 1024 / (long)PAGE;
}

static long wrong_in_file(int fd)
{
	char *mem = map_aligned(LEN, PROT_READ, MAP_SHARED, fd);
	long wrong = mem == MAP_FAILED ? PAGES : count_wrong(mem, LEN, SEED);

	munmap(mem, LEN);
	return wrong;
}

/* The victim's private memory is freed; its shared memory and the parent's memory stay. */
static bool only_private_went(struct victim *victim)
{
	CHECK(victims_pages(victim->pid, "RssAnon:") <= SLACK);
	CHECK(victims_pages(victim->pid, "VmSwap:") <= SLACK);
	CHECK(victims_pages(victim->pid, "RssShmem:") >= PAGES - SLACK);
	CHECK_EQ(0, count_wrong(victim->inherited, LEN, SEED));
	CHECK_EQ(0, count_wrong(victim->shared, LEN, SEED));
	CHECK_EQ(0, wrong_in_file(victim->file));
	return true;
}

static long charged(void)
{
	return cgroup_stat("anon") / (long)PAGE;
}

/*
 * The periodic flush of the statistics, every two seconds, can forget that a processor has more to
 * flush: then the group's figures are old until the next one.
 */
static bool charges_fall_to(long pages)
{
	for (int i = 0; i < FLUSH_TRIES && charged() > pages; i++)
		usleep(100000);
	return charged() <= pages;
}

TEST_LONG(killed, released)
{
	long before = charged();
	int pidfd;

	ASSERT_TRUE(start_victim(&self->victim, false));
	EXPECT_LE(7 * PAGES / 4 - SLACK, charged() - before);
	pidfd = syscall(SYS_pidfd_open, self->victim.pid, 0);
	ASSERT_LE(0, pidfd);
	ASSERT_EQ(0, kill(self->victim.pid, SIGKILL));
	ASSERT_TRUE(is_at_exit(self->victim.pid));
	EXPECT_LE(PAGES, victims_pages(self->victim.pid, "RssAnon:"));
	ASSERT_EQ(0, syscall(SYS_process_mrelease, pidfd, 0));
	EXPECT_TRUE(only_private_went(&self->victim));
	EXPECT_TRUE(charges_fall_to(before + SLACK));
	EXPECT_TRUE(let_go(self->victim.pid));
	close(pidfd);
}

static bool limit_memory(long long more)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", cgroup_read("memory.current", "") + more);
	return cgroup_write("memory.swap.max", "0") && cgroup_write("memory.max", text);
}

static bool reaper_came(int log, pid_t pid)
{
	char text[64];

	snprintf(text, sizeof(text), "oom_reaper: reaped process %d ", pid);
	for (int i = 0; i < REAPER_TRIES; i++) {
		if (kmsg_has(log, text))
			return true;
		usleep(100000);
	}
	return false;
}

TEST_LONG(killed, reaped)
{
	long before = charged();
	int log = kmsg_open();

	ASSERT_TRUE(start_victim(&self->victim, true));
	ASSERT_TRUE(limit_memory(8 * MIB));
	ASSERT_TRUE(tell(self->victim.go[1]));
	ASSERT_TRUE(is_at_exit(self->victim.pid));
	ASSERT_TRUE(cgroup_write("memory.max", "max"));
	ASSERT_TRUE(reaper_came(log, self->victim.pid));
	EXPECT_TRUE(only_private_went(&self->victim));
	EXPECT_TRUE(charges_fall_to(before + SLACK));
	EXPECT_TRUE(let_go(self->victim.pid));
	close(log);
}

TEST_HARNESS_MAIN
