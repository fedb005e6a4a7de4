// SPDX-License-Identifier: GPL-2.0-only
/* A memory cgroup of the workload's own: see cgroup.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"

void enter_cgroup(void)
{
	char pid[16];

	if (!path_exists("/sys/fs/cgroup/cgroup.procs"))
		skip("no cgroup2 at /sys/fs/cgroup");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		skip("cannot create " CGROUP ": %s", strerror(errno));
	if (!path_exists(RECLAIM_PATH))
		skip("cannot find " RECLAIM_PATH);
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_text(CGROUP "/cgroup.procs", pid);
}

void leave_cgroup(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	write_text("/sys/fs/cgroup/cgroup.procs", pid);
	rmdir(CGROUP);
}

bool try_reclaim(const char *amount)
{
	int fd = open(RECLAIM_PATH, O_WRONLY);
	bool done = fd >= 0 && write(fd, amount, strlen(amount)) > 0;

	if (fd < 0 || (!done && errno != EAGAIN))
		fail("cannot write to " RECLAIM_PATH ": %s", strerror(errno));
	close(fd);
	return done;
}

struct usage read_usage(void)
{
	return (struct usage) {
		.current = read_number(CGROUP "/memory.current"),
		.file = read_field(CGROUP "/memory.stat", "file "),
		.mapped = read_field(CGROUP "/memory.stat", "file_mapped "),
	};
}

void check_drop(const char *what, u64 before, u64 after, u64 asked)
{
	u64 drop = before - after;

	if (drop < asked - asked / 20 || drop > asked + asked / 20)
		fail("%s went from %llu to %llu, expected it to fall by about %llu", what,
		     (unsigned long long)before, (unsigned long long)after,
		     (unsigned long long)asked);
}
