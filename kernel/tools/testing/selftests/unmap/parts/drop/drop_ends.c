// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes end, fork, or lock their memory while their tables are dropped: see drop.h.
 *
 * Each is a child of this process, with COPIES tables.  It uses a few pages of each, so that
 * they are filled again soon.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drop.h"

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT	1
#endif
#define PLACES		4L	/* pages that are used in each table: far apart for faults */
#define COPIED		3	/* each third table of a private mapping has a page of its own */
#define ENOUGH		2	/* times that each happens, on a busy host, too */
#define OOM_LIMIT	(16 * MIB)	/* what a process may grow by */
#define LIMIT		120	/* seconds, on a busy host, too */

static char *place(char *mem, long i)
{
	return mem + i / PLACES * LEN + i % PLACES * (PAGES / PLACES) * PAGE;
}

static bool use(char *mem)
{
	for (long i = 0; i < COPIES * PLACES; i++)
		CHECK_EQ(0, READ_ONCE(*place(mem, i)));
	return true;
}

/* Those tables stay: nobody else has the copied page. */
static bool copies_are_right(char *mem, unsigned char byte)
{
	for (long i = 0; i < COPIES; i += COPIED)
		CHECK_EQ(byte, READ_ONCE(mem[i * LEN + PAGE]));
	return use(mem);
}

static void make_copies(char *mem, unsigned char byte)
{
	for (long i = 0; i < COPIES; i += COPIED)
		WRITE_ONCE(mem[i * LEN + PAGE], byte);
}

static bool exits(int fd)
{
	char *mem = map_file(fd, COPIES, MAP_SHARED);

	return mem != MAP_FAILED && use(mem) && use(mem);
}

static bool execs(int fd)
{
	char *mem = map_file(fd, COPIES, MAP_SHARED);

	CHECK(mem != MAP_FAILED && use(mem) && use(mem));
	return !execl("/bin/true", "true", NULL);
}

/* What was mapped when the memory was locked stays; on fault, that is what was mapped before. */
static bool locks(int fd, int flags)
{
	static __u64 before[PAGES], after[PAGES];
	char *mem = map_file(fd, COPIES, MAP_SHARED);
	char *locked = mem + COPIES / 2 * LEN;

	CHECK(mem != MAP_FAILED && use(mem));
	CHECK(!syscall(SYS_mlock2, locked, LEN, flags));
	READ_ONCE(*locked);
	pagemap_range(locked, before, PAGES);
	CHECK(before[0] & PM_PRESENT);
	CHECK(use(mem));
	dropping_wait();
	pagemap_range(locked, after, PAGES);
	for (long i = 0; i < PAGES; i++)
		CHECK(!(before[i] & PM_PRESENT) || after[i] & PM_PRESENT);
	return true;
}

static bool locks_all(int fd)
{
	return locks(fd, 0);
}

static bool locks_on_fault(int fd)
{
	return locks(fd, MLOCK_ONFAULT);
}

/* fork() copies tables of a private mapping, if it has pages of its own. */
static bool forks(int fd)
{
	char *mem = map_file(fd, COPIES, MAP_PRIVATE);
	int status = -1, child;

	CHECK(mem != MAP_FAILED);
	make_copies(mem, 1);
	CHECK(use(mem));
	child = fork();
	if (!child) {
		bool right = copies_are_right(mem, 1);

		make_copies(mem, 2);
		_exit(!right || !copies_are_right(mem, 2));
	}
	CHECK(child > 0 && copies_are_right(mem, 1));
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(0, status);
	return copies_are_right(mem, 1);
}

static int start_child(bool (*job)(int fd), int fd)
{
	int pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		bool done = job(fd);

		fflush(stdout);
		_exit(!done);
	}
	return pid;
}

static bool run_child(bool (*job)(int fd), int fd)
{
	int pid = start_child(job, fd), status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ(0, status);
	return true;
}

/*
 * Shared with a child, which waits until it is traced, so that it will be stopped when it is
 * about to exit, and says when it uses its memory.
 */
static struct {
	bool traced, uses;
} *shared;

static bool wait_until(const bool *flag)
{
	double limit = now() + LIMIT;

	while (!READ_ONCE(*flag)) {
		CHECK(now() < limit);
		usleep(1000);
	}
	return true;
}

/* Returns when it uses its memory. */
static int start_traced(bool (*job)(int fd), int fd)
{
	int pid;

	if (!shared)
		shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	if (shared == MAP_FAILED)
		return -1;
	shared->traced = false;
	shared->uses = false;
	pid = start_child(job, fd);
	if (pid < 0 ||
	    ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL))
		return -1;
	WRITE_ONCE(shared->traced, true);
	return wait_until(&shared->uses) ? pid : -1;
}

static bool wait_for_exit(int pid)
{
	int status;

	do
		CHECK(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
	while (status >> 8 != (SIGTRAP | PTRACE_EVENT_EXIT << 8) &&
	       !ptrace(PTRACE_CONT, pid, NULL, NULL));
	return true;
}

static bool let_exit(int pid)
{
	int status;

	CHECK(!ptrace(PTRACE_CONT, pid, NULL, NULL));
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return true;
}

/* Until it is killed. */
static bool uses_private(int fd)
{
	char *mem = map_file(fd, COPIES, MAP_PRIVATE);

	CHECK(mem != MAP_FAILED && wait_until(&shared->traced));
	make_copies(mem, 1);
	for (;;) {
		CHECK(copies_are_right(mem, 1));
		WRITE_ONCE(shared->uses, true);
		cpu_relax();
	}
}

/* process_mrelease() does what the OOM reaper does: memory goes before the process. */
static bool reaps(int fd)
{
	int pid = start_traced(uses_private, fd), pidfd;

	CHECK(pid > 0);
	dropping_wait();
	CHECK(!kill(pid, SIGKILL) && wait_for_exit(pid));
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	CHECK(pidfd >= 0);
	CHECK(!syscall(SYS_process_mrelease, pidfd, 0));
	close(pidfd);
	return let_exit(pid);
}

/* Until it exceeds the limit of its control group.  Returns if it was not killed. */
static bool grow(void)
{
	CHECK(write_text("/proc/self/oom_score_adj", "1000"));
	WRITE_ONCE(shared->uses, true);
	for (size_t grown = 0; grown < 2 * OOM_LIMIT; grown += MIB)
		memset(map_aligned(MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1), 1,
		       MIB);
	return false;
}

/* Tables are dropped before it is killed, too. */
static bool grows_private(int fd)
{
	char *mem = map_file(fd, COPIES, MAP_PRIVATE);

	CHECK(mem != MAP_FAILED && wait_until(&shared->traced));
	make_copies(mem, 1);
	CHECK(copies_are_right(mem, 1));
	dropping_wait();
	return copies_are_right(mem, 1) && grow();
}

/* The OOM reaper leaves shared memory. */
static bool grows_shared(int fd)
{
	char *mem = map_file(fd, COPIES, MAP_SHARED);

	CHECK(mem != MAP_FAILED && wait_until(&shared->traced));
	return use(mem) && grow();
}

/* Begin a job that grows.  Returns when it was killed for that, and is about to exit. */
static int start_killed(bool (*job)(int fd), int fd)
{
	long long now = cgroup_read("memory.current", "");
	char limit[32];
	bool killed;
	int pid;

	snprintf(limit, sizeof(limit), "%lld", now + (long long)OOM_LIMIT);
	if (!cgroup_write("memory.swap.max", "0") || !cgroup_write("memory.max", limit))
		return -1;
	pid = start_traced(job, fd);
	killed = pid > 0 && wait_for_exit(pid);
	return cgroup_write("memory.max", "max") && killed ? pid : -1;
}

/* The OOM reaper gives a victim two seconds to exit by itself. */
static bool wait_for_reaper(int pid)
{
	double limit = now() + LIMIT;

	while (process_kib(pid, "RssAnon:")) {
		CHECK(now() < limit);
		usleep(1000);
	}
	return true;
}

static bool is_reaped(int fd)
{
	int pid = start_killed(grows_private, fd);

	CHECK(pid > 0 && wait_for_reaper(pid));
	dropping_wait();
	return let_exit(pid);
}

static bool all_happen(int fd)
{
	return run_child(exits, fd) && run_child(execs, fd) && run_child(locks_all, fd) &&
	       run_child(locks_on_fault, fd) && run_child(forks, fd) && reaps(fd);
}

bool race_ends(struct scene *scene)
{
	int fd = drop_file(scene);
	bool right = fd >= 0 && dropping_start();

	for (int i = 0; right && (i < ENOUGH || race_goes_on(RACE_TABLES)); i++)
		right = all_happen(fd);
	dropping_stop();
	/* The last user of an mm may be reclaim, which leaves it to a worker. */
	usleep(50000);
	return right;
}

bool race_oom(struct scene *scene)
{
	int fd = drop_file(scene);
	bool right = fd >= 0 && write_text("/proc/self/oom_score_adj", "-1000") && dropping_start();

	CHECK(right);
	for (int i = 0; right && (i < ENOUGH || race_goes_on(RACE_TABLES)); i++)
		right = is_reaped(fd);
	dropping_stop();
	usleep(50000);
	return right;
}

static bool set_dropping(bool on)
{
	long long bits = read_field(UNMAP_SYSFS "enabled", "");

	return write_number(UNMAP_SYSFS "enabled",
			    on ? bits | UNMAP_DROP : bits & ~(long long)UNMAP_DROP);
}

bool keep_reaped(struct scene *scene)
{
	int fd = drop_file(scene), pid;
	long long looked;
	long before;

	CHECK(fd >= 0 && write_text("/proc/self/oom_score_adj", "-1000"));
	/* Reclaim drops tables before it gives up. */
	CHECK(set_dropping(false));
	pid = start_killed(grows_shared, fd);
	CHECK(pid > 0 && wait_for_reaper(pid));
	before = process_kib(pid, "VmPTE:");
	CHECK(before >= COPIES * (long)(PAGE / KIB));
	CHECK(set_dropping(true));
	looked = unmap_stat("drop_mms");
	CHECK(drop_slabs() && drop_slabs());
	CHECK(unmap_stat("drop_mms") > looked);
	CHECK_EQ(before, process_kib(pid, "VmPTE:"));
	return let_exit(pid);
}
