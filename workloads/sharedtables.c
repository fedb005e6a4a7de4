// SPDX-License-Identifier: GPL-2.0-only
/*
 * sharedtables CASE: page tables of processes that map the same file, when memory is short.
 *
 * shmem: 32 processes map 256 MiB of shared memory (--full: 64 map 1 GiB) and touch all pages,
 *        half of them by reading, half by writing.  Then half of each kind sleep, and the others
 *        are users: each reads a page of each 2 MiB some twenty times a second.
 * shmem-64K: the same with folios of 64 KiB.
 * file:  the same with 64 MiB of a file on XFS (--full: 1 GiB); what was written is on the disk.
 *
 * Then memory.high of their control group falls to what the group uses less three quarters of
 * all page tables.  What the kernel does until the write returns is measured; the users run
 * meanwhile.  The group must not swap.  Processes count as idle after 200 ms.  Needs a kernel
 * with CONFIG_LRU_GEN (bench --lru-gen 0), without which no tables are dropped.
 *
 * vmpte_*: page tables of all sleepers and of all users, before and after
 * cached: pages of the file that are in memory afterwards, of those that were before
 * user_*, wake_*: what each user, and each sleeper that wakes, takes to read all pages once
 *
 * After: each process reads what it should.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/datafile.h"
#include "lib/tables.h"
#include "lib/workload.h"

#define MAX_PROCESSES	64
#define IDLE_PATH	"/sys/kernel/mm/unmap/drop_idle_ms"
#define IDLE_MS		200
#define IDLE_TEXT	"200"
#define NAP_US		50000
#define PATH		"/mnt/sharedtables"
#define SHMEM_FOLIOS	"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/shmem_enabled"

/* Shared by all processes. */
struct process {
	pid_t pid;
	bool stop;		/* asked for */
	u64 time, faults;	/* to read all pages, after the measured part */
};

struct sums {
	u64 sleepers, users;
};

static struct process *processes;
static unsigned int nr_processes = 32;
static size_t len;
static int fd;

/* Sleepers: the odd ones of each pair of a reader and a writer. */
static bool sleeps(unsigned int i)
{
	return i / 2 % 2;
}

static bool writes(unsigned int i)
{
	return i % 2;
}

static void touch(char *mem, bool write)
{
	volatile u64 *word;

	for (size_t at = 0; at < len; at += PAGE) {
		word = (volatile u64 *)(mem + at);
		if (write)
			*word = *word;
		else
			(void)*word;
	}
}

static void use_some(const char *mem)
{
	for (size_t at = 0; at < len; at += TABLE)
		(void)*(const volatile char *)(mem + at);
	usleep(NAP_US);
}

static void read_all(struct process *self, char *mem)
{
	u64 faults = count_faults(), time = cpu_time();

	touch(mem, false);
	self->time = cpu_time() - time;
	self->faults = count_faults() - faults;
	check_contents(mem, len);
}

/* Aligned to tables, so that folios of any size fit. */
static char *map_all(void)
{
	char *mem = map_anon(len);

	if (mmap(mem, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != mem)
		fail("cannot map the file");
	return mem;
}

static void __noreturn run_process(unsigned int i)
{
	struct process *self = &processes[i];
	char *mem = map_all();

	touch(mem, writes(i));
	child_prepared();
	while (!sleeps(i) && !*(volatile bool *)&self->stop)
		use_some(mem);
	read_all(self, mem);
	_exit(0);
}

static void start_processes(void)
{
	processes = mmap(NULL, MAX_PROCESSES * sizeof(*processes), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (processes == MAP_FAILED)
		fail("no memory");
	for (unsigned int i = 0; i < nr_processes; i++) {
		pid_t pid = fork();

		if (!pid)
			run_process(i);
		await_child(pid);
		processes[i].pid = pid;
	}
}

static void wake(bool sleepers)
{
	for (unsigned int i = 0; i < nr_processes; i++)
		if (sleeps(i) == sleepers)
			release_child(processes[i].pid);
}

static void stop_users(void)
{
	for (unsigned int i = 0; i < nr_processes; i++)
		*(volatile bool *)&processes[i].stop = true;
}

static struct sums sum_tables(void)
{
	struct sums sums = {};
	char path[64];

	for (unsigned int i = 0; i < nr_processes; i++) {
		u64 *sum = sleeps(i) ? &sums.sleepers : &sums.users;

		snprintf(path, sizeof(path), "/proc/%d/status", processes[i].pid);
		*sum += read_field(path, "VmPTE:");
	}
	return sums;
}

/* Fail if any of them failed. */
static void reap(bool sleepers)
{
	u64 time = 0, faults = 0;

	for (unsigned int i = 0; i < nr_processes; i++) {
		if (sleeps(i) != sleepers)
			continue;
		reap_child(processes[i].pid);
		time += processes[i].time;
		faults += processes[i].faults;
	}
	quotient_metric(sleepers ? "wake_time" : "user_time", time, nr_processes / 2, "ns");
	quotient_metric(sleepers ? "wake_faults" : "user_faults", faults, nr_processes / 2, "faults");
}

static void make_shmem(void)
{
	char *mem;

	fd = memfd_create("sharedtables", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, len))
		fail("cannot make shared memory");
	mem = map_all();
	stamp_pages(mem, len, 0);
	munmap(mem, len);
}

static void make_cached_file(void)
{
	fd = make_file(PATH, len);
	fill_file(fd, len);
}

static unsigned long cached(void)
{
	char *mem = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	unsigned long nr = count_cached(mem, len);

	munmap(mem, len);
	return nr;
}

static void lower_limit(u64 tables)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu",
		 (unsigned long long)(read_usage().current - tables * 1024 / 4 * 3));
	write_text(CGROUP "/memory.high", text);
}

static void usual_size(const struct request *req, bool file)
{
	nr_processes = req->full ? MAX_PROCESSES : 32;
	len = req->full ? GIB : file ? 64 * MIB : 256 * MIB;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "sharedtables CASE [--full]");
	bool file = !strcmp(req.name, "file"), large = !strcmp(req.name, "shmem-64K");
	struct sums before, after;
	unsigned long there;
	u64 instructions;

	if (!file && !large && strcmp(req.name, "shmem"))
		fail("unknown case %s: expected shmem, shmem-64K or file", req.name);
	usual_size(&req, file);
	if (path_exists(IDLE_PATH))
		write_text(IDLE_PATH, IDLE_TEXT);
	if (path_exists(SHMEM_FOLIOS))
		write_text(SHMEM_FOLIOS, large ? "always" : "never");
	settle();
	enter_cgroup();
	write_text(CGROUP "/memory.swap.max", "0");
	if (file)
		make_cached_file();
	else
		make_shmem();
	start_processes();
	if (file && fsync(fd))
		fail("cannot write the file back");
	wake(false);
	usleep(3 * IDLE_MS * 1000);
	before = sum_tables();
	there = cached();

	instructions = measure_begin();
	lower_limit(before.sleepers + before.users);
	instructions = measure_end(instructions);

	after = sum_tables();
	quotient_metric("cached", cached() * 100, there, "%");
	write_text(CGROUP "/memory.high", "max");
	stop_users();
	reap(false);
	wake(true);
	reap(true);
	report(instructions, before.sleepers * 1024 / PAGE);
	metric("vmpte_sleepers_before", before.sleepers, "kB");
	metric("vmpte_sleepers_after", after.sleepers, "kB");
	metric("vmpte_users_before", before.users, "kB");
	metric("vmpte_users_after", after.users, "kB");
	leave_cgroup();
	return 0;
}
