// SPDX-License-Identifier: GPL-2.0-only
/* Processor, kernel, switch and counters, and the kernel's log: see proof.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "proof.h"

#ifndef UNMAP
#define UNMAP	"/sys/kernel/mm/unmap/"
#endif
#define MAX_COUNTERS	64
#define LINE	200

static cpu_set_t allowed;

unsigned int nr_cpus(void)
{
	if (!CPU_COUNT(&allowed))
		sched_getaffinity(0, sizeof(allowed), &allowed);
	return CPU_COUNT(&allowed) ? CPU_COUNT(&allowed) : 1;
}

void use_cpu(unsigned int nth)
{
	unsigned int left = nth % nr_cpus();
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || left--)
			continue;
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

const char *require_machine(void)
{
	if (access(UNMAP "enabled", F_OK))
		return "this kernel has no Swathe: there is no " UNMAP "enabled";
	if (geteuid())
		return "only root may read the counters and page frames";
	if (sysconf(_SC_PAGESIZE) != (long)PAGE)
		return "the page size is not 4 KiB";
	return NULL;
}

/* The first line of a file, without its end; empty if there is none. */
static const char *first_line(const char *path)
{
	static char line[LINE];
	FILE *file = fopen(path, "re");

	line[0] = '\0';
	if (file) {
		if (fgets(line, sizeof(line), file))
			line[strcspn(line, "\n")] = '\0';
		fclose(file);
	}
	return line;
}

/* The text after "KEY :" on the first line that begins with KEY. */
static const char *field(const char *path, const char *key)
{
	static char line[LINE];
	FILE *file = fopen(path, "re");
	char *value = NULL;

	while (file && !value && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		value = strchr(line, ':');
		line[strcspn(line, "\n")] = '\0';
	}
	if (file)
		fclose(file);
	return value ? value + 1 + strspn(value + 1, " \t") : "not told";
}

static bool is_guest(void)
{
	char line[4096];
	FILE *file = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " hypervisor") != NULL;
	if (file)
		fclose(file);
	return found;
}

static void print_huge_pages(void)
{
	DIR *dir = opendir(THP);
	struct dirent *entry;
	char path[400];

	printf("huge pages: %s", first_line(THP "enabled"));
	while (dir && (entry = readdir(dir))) {
		const char *mode;

		snprintf(path, sizeof(path), THP "%s/enabled", entry->d_name);
		mode = strncmp(entry->d_name, "hugepages-", 10) ? "" : first_line(path);
		if (*mode && !strstr(mode, "[never]"))
			printf("; %s %s", entry->d_name, mode);
	}
	if (dir)
		closedir(dir);
	printf("\n");
}

void print_machine(void)
{
	struct utsname name;

	uname(&name);
	printf("kernel: %s %s %s\n", name.release, name.version, name.machine);
	printf("processor: %s", field("/proc/cpuinfo", "model name"));
	printf(", microcode %s", field("/proc/cpuinfo", "microcode"));
	printf(", %u in use%s\n", nr_cpus(), is_guest() ? ", in a virtual machine" : "");
	printf("memory: %s", field("/proc/meminfo", "MemTotal"));
	printf(", swap %s\n", field("/proc/meminfo", "SwapTotal"));
	printf("switch: %s", first_line(UNMAP "enabled"));
	printf(", tables_policy %s", first_line(UNMAP "tables_policy"));
	printf(", max_run %s\n", first_line(UNMAP "max_run"));
	print_huge_pages();
}

/* The counters of stat, and the number of TLB flush interrupts (x86). */
struct counter {
	char name[40];
	long long before;
};

static struct counter counters[MAX_COUNTERS];
static unsigned int nr_counters;

typedef void counter_fn(const char *name, long long value);

static long long remote_flushes(void)
{
	FILE *file = fopen("/proc/interrupts", "re");
	long long sum = 0;
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *at = strstr(line, "TLB:"), *end;

		for (at = at ? at + 4 : NULL; at; at = end == at ? NULL : end)
			sum += strtoll(at, &end, 10);
	}
	free(line);
	if (file)
		fclose(file);
	return sum;
}

static void each_counter(counter_fn *fn)
{
	FILE *file = fopen(UNMAP "stat", "re");
	char name[40];
	long long value;

	while (file && fscanf(file, "%39s %lld", name, &value) == 2)
		fn(name, value);
	if (file)
		fclose(file);
	fn("tlb_interrupts", remote_flushes());
}

static void note(const char *name, long long value)
{
	if (nr_counters == MAX_COUNTERS)
		return;
	strcpy(counters[nr_counters].name, name);
	counters[nr_counters++].before = value;
}

void note_counters(void)
{
	each_counter(note);
}

static long long before(const char *name)
{
	for (unsigned int i = 0; i < nr_counters; i++)
		if (!strcmp(counters[i].name, name))
			return counters[i].before;
	return 0;
}

static void print_added(const char *name, long long value)
{
	printf("  %-18s %14lld -> %lld (+%lld)\n", name, before(name), value, value - before(name));
}

void print_counters(void)
{
	each_counter(print_added);
}

static const char *sought;
static long long sought_added;

static void seek(const char *name, long long value)
{
	if (!strcmp(name, sought))
		sought_added = value - before(name);
}

long long counter_added(const char *name)
{
	sought = name;
	sought_added = 0;
	each_counter(seek);
	return sought_added;
}

int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Find the kernel's messages about bad page tables and bad pages. */
bool log_complains(int fd, char *line, size_t size)
{
	static const char *const signs[] = {
		"BUG: Bad", "bad pmd", "bad pgd", "Bad rss-counter", "kernel BUG at",
		"BUG: KASAN", "BUG: unable to handle", "mm/unmap",
	};
	char record[2048];
	ssize_t len;

	while (fd >= 0 && (len = read(fd, record, sizeof(record) - 1)) > 0) {
		char *text;

		record[len] = '\0';
		text = strchr(record, ';');
		for (size_t i = 0; text && i < ARRAY_SIZE(signs); i++) {
			if (!strstr(text, signs[i]))
				continue;
			text[strcspn(text, "\n")] = '\0';
			snprintf(line, size, "%s", text + 1);
			return true;
		}
	}
	return false;
}
