// SPDX-License-Identifier: GPL-2.0-only
/* A memory control group for the test, and reclaim of it: see unmap_util.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unmap_util.h"

static char cgroup[64];

static bool cgroup_path(char *path, size_t size, const char *file)
{
	snprintf(path, size, "%s/%s", cgroup, file);
	return !access(path, F_OK);
}

const char *cgroup_name(void)
{
	return cgroup + strlen(CGROUP_ROOT);
}

bool cgroup_enter(void)
{
	char path[128];

	write_text(CGROUP_ROOT "/cgroup.subtree_control", "+memory");
	snprintf(cgroup, sizeof(cgroup), CGROUP_ROOT "/unmap-%d", getpid());
	if (mkdir(cgroup, 0755) && errno != EEXIST)
		return false;
	if (!cgroup_path(path, sizeof(path), "memory.reclaim"))
		return false;
	cgroup_path(path, sizeof(path), "cgroup.procs");
	return write_number(path, getpid());
}

void cgroup_leave(void)
{
	if (!cgroup[0])
		return;
	write_number(CGROUP_ROOT "/cgroup.procs", getpid());
	rmdir(cgroup);
	cgroup[0] = '\0';
}

static void reclaim(size_t bytes, const char *how)
{
	char path[128], text[64];

	cgroup_path(path, sizeof(path), "memory.reclaim");
	snprintf(text, sizeof(text), "%zu%s", bytes, how);
	write_text(path, text);	/* may reclaim less (EAGAIN): the tests check the result */
}

void reclaim_file(size_t bytes)
{
	reclaim(bytes, " swappiness=0");
}

void reclaim_all(size_t bytes)
{
	reclaim(bytes, "");
}

void reclaim_anon(size_t bytes)
{
	reclaim(bytes, kernel_before(6, 18) ? "" : " swappiness=max");
}

long long cgroup_stat(const char *name)
{
	char path[128];

	cgroup_path(path, sizeof(path), "memory.stat");
	return read_named(path, name);
}

long long cgroup_read(const char *file, const char *key)
{
	char path[128];

	return cgroup_path(path, sizeof(path), file) ? read_field(path, key) : -1;
}

bool cgroup_write(const char *file, const char *text)
{
	char path[128];

	return cgroup_path(path, sizeof(path), file) && write_text(path, text);
}
