// SPDX-License-Identifier: GPL-2.0-only
/* Children that run a job in steps, and control groups for them: see fault_util.h. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_util.h"
#include "unmap_util.h"

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

bool child_start(struct child *child, void (*job)(struct child *child, void *arg), void *arg)
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
