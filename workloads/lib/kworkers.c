// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel's workers have done: see workload.h. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "workload.h"

/* Of /proc/PID/sched, which has milliseconds with six decimals; 0 if the task has gone. */
static u64 runtime_of(const char *pid)
{
	unsigned long long ms = 0, ns = 0;
	char path[300], line[200];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/sched", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "se.sum_exec_runtime : %llu.%llu", &ms, &ns) == 2)
			break;
	fclose(file);
	return ms * 1000000 + ns;
}

static bool is_kworker(const char *pid)
{
	char path[300], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		*name = '\0';
	fclose(file);
	return !strncmp(name, "kworker", 7);
}

u64 kworkers_time(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	u64 sum = 0;

	if (!dir)
		fail("cannot read /proc");
	while ((entry = readdir(dir)))
		if (isdigit(*entry->d_name) && is_kworker(entry->d_name))
			sum += runtime_of(entry->d_name);
	closedir(dir);
	return sum;
}
