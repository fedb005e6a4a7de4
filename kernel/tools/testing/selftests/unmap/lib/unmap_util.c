// SPDX-License-Identifier: GPL-2.0-only
/* Files, the switch, the start and end of a test, the kernel log: see unmap_util.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "unmap_util.h"

/* Files. */

bool write_text(const char *path, const char *text)
{
	ssize_t len = strlen(text);
	int fd = open(path, O_WRONLY);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, text, len) == len;
	close(fd);
	return done;
}

long from_env(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 0) : otherwise;
}

bool kernel_before(long major, long minor)
{
	struct utsname kernel;
	long is, then = 0;
	char *rest;

	if (uname(&kernel))
		return false;
	is = strtol(kernel.release, &rest, 10);
	if (*rest == '.')
		then = strtol(rest + 1, NULL, 10);
	return is < major || (is == major && then < minor);
}

bool write_number(const char *path, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", value);
	return write_text(path, text);
}

bool read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, buf, size - 1);
	close(fd);
	buf[len > 0 ? len : 0] = '\0';
	return len >= 0;
}

long long read_field(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	size_t len = strlen(key);
	long long value = -1;
	char line[256];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, len))
			continue;
		value = strtoll(line + len, NULL, 0);
		break;
	}
	fclose(file);
	return value;
}

long long read_named(const char *path, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "%s ", name);
	return read_field(path, key);
}

long long vmstat(const char *name)
{
	return read_named("/proc/vmstat", name);
}

long long status_pages(const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "%s:", name);
	return read_field("/proc/self/status", key) * 1024 / (long long)PAGE;
}

/* The switch. */

static long long switch_before = -1;

static bool switch_set(long long mask)
{
	return write_number(UNMAP_SYSFS "enabled", mask) &&
	       read_field(UNMAP_SYSFS "enabled", "") == mask;
}

bool switch_all(bool on)
{
	long long mask = read_field(UNMAP_SYSFS "enabled", "");

	if (mask < 0)
		return !on;	/* a kernel without the subsystem is always off */
	if (switch_before < 0)
		switch_before = mask;
	if (!on)
		return switch_set(0);
	/* Not each kernel has all bits. */
	return write_text(UNMAP_SYSFS "enabled", "y") &&
	       switch_has(UNMAP_EVICT | UNMAP_DISCARD);
}

bool switch_has(unsigned long bits)
{
	long long mask = read_field(UNMAP_SYSFS "enabled", "");

	return mask >= 0 && (mask & bits) == bits;
}

void switch_restore(void)
{
	if (switch_before >= 0)
		write_number(UNMAP_SYSFS "enabled", switch_before);
	switch_before = -1;
}

long long unmap_stat(const char *name)
{
	return read_named(UNMAP_SYSFS "stat", name);
}

/* Start and end of a test. */

void use_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static char policy_before[48];	/* all policies, the one that was in force in brackets */

/* The kernel may remember which tables the last test's process had. */
static void policy_eager(void)
{
	if (read_text(POLICY, policy_before, sizeof(policy_before)))
		write_text(POLICY, "eager");
}

static void policy_restore(void)
{
	char *name = strchr(policy_before, '[');

	if (!name)
		return;
	name++;
	name[strcspn(name, "]")] = '\0';
	write_text(POLICY, name);
	*policy_before = '\0';
}

const char *begin(unsigned long kib, bool on)
{
	if (!on && getenv("UNMAP_ON_ONLY"))
		return "switched off, where UNMAP_ON_ONLY is set";
	if (sysconf(_SC_PAGESIZE) != PAGE)
		return "was compiled for other pages: make CFLAGS=-DUNMAP_PAGE_SHIFT=N";
	if (access("/proc/kpageflags", R_OK))
		return "needs root and CONFIG_PROC_PAGE_MONITOR";
	if (!switch_all(on))
		return "this kernel cannot switch mm/unmap on";
	if (!folio_size_set(kib)) {
		end();
		return "this kernel has no folios of that size";
	}
	khugepaged_rests(kib);
	policy_eager();
	if (!cgroup_enter()) {
		end();
		return "no memory.reclaim in a cgroup2 at " CGROUP_ROOT;
	}
	use_cpu(0);	/* one CPU: no page waits in the LRU batch of another CPU */
	return NULL;
}

const char *begin_with(const char *policy)
{
	const char *missing = begin(4, true);

	if (missing)
		return missing;
	if (!switch_has(UNMAP_TABLES) || !write_text(POLICY, policy)) {
		end();
		return "this kernel gives no page tables back, or lacks this policy";
	}
	return NULL;
}

void end(void)
{
	cgroup_leave();
	folio_size_restore();
	policy_restore();
	switch_restore();
}

/* The kernel log. */

int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Whether a record of the log has @text, and does not have @but (null: whatever else it has). */
static bool kmsg_has_but(int fd, const char *text, const char *but)
{
	char line[1024];
	bool found = false;
	ssize_t len;

	while ((len = read(fd, line, sizeof(line) - 1)) > 0) {
		line[len] = '\0';
		found |= strstr(line, text) && !(but && strstr(line, but));
	}
	return found;
}

bool kmsg_has(int fd, const char *text)
{
	return kmsg_has_but(fd, text, NULL);
}

bool kmsg_has_bug(int fd)
{
	return kmsg_has_but(fd, "BUG: ", "BUG: KCSAN:");
}
