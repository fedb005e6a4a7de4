// SPDX-License-Identifier: GPL-2.0-only
/* Tables, control groups and children of the test kept: see kept.h. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kept.h"

long long tables_of(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_field(path, "VmPTE:") * 1024 / (long long)PAGE;
}

bool fall_to(pid_t pid, long long tables)
{
	for (int i = 0; i < SOON && tables_of(pid) > tables; i++)
		usleep(100000);
	if (tables_of(pid) > tables)
		printf("# %lld tables, not %lld\n", tables_of(pid), tables);
	return tables_of(pid) <= tables;
}

char *map_tables(size_t len, int flags, int fd)
{
	return map_aligned(len, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd);
}

void fill_tables(char *mem, size_t len)
{
	for (size_t at = 0; at < len; at += PMD)
		WRITE_ONCE(mem[at], 1);
}

void empty_tables(char *mem, size_t len)
{
	fill_tables(mem, len);
	madvise(mem, len, MADV_DONTNEED);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Control groups. */

bool group_write(const char *group, const char *file, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), GROUPS "%s/%s", group, file);
	return write_text(path, text);
}

bool group_make(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), GROUPS "%s", group);
	return !mkdir(path, 0755);
}

bool group_remove(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), GROUPS "%s", group);
	return !rmdir(path);
}

bool group_enter(const char *group, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return group_write(group, "cgroup.procs", text);
}

bool groups_make(const char *controllers)
{
	return (write_text("/sys/fs/cgroup/cgroup.subtree_control", controllers) &&
		group_make("") && group_write("", "cgroup.subtree_control", controllers));
}

/* A child that runs a job in steps. */

bool child_start(struct child *child, void (*job)(struct child *child, void *arg),
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
	/* The exit of the one closes its pipes, which ends a read() of the other. */
	close(here ? to[0] : to[1]);
	close(here ? from[1] : from[0]);
	if (here)
		return child->pid > 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	job(child, arg);
	_exit(0);
}

void child_says_done(struct child *child)
{
	char token = 0;

	if (write(child->from, &token, 1) != 1)
		_exit(1);
}

void child_done(struct child *child)
{
	char token;

	child_says_done(child);
	if (read(child->to, &token, 1) != 1)
		_exit(1);
}

bool child_wait(struct child *child)
{
	char token;

	return read(child->from, &token, 1) == 1;
}

bool child_go_on(struct child *child)
{
	char token = 0;

	return write(child->to, &token, 1) == 1;
}

void child_end(struct child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	waitpid(child->pid, &status, 0);
	close(child->to);
	close(child->from);
}
