// SPDX-License-Identifier: GPL-2.0-only
/* Processor, kernel, switch and counters, and the kernel's log: see proof.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "proof.h"

#define MAX_COUNTERS	64

const char *require_machine(void)
{
	if (access(SWITCH, F_OK))
		return "this kernel has no Swathe: there is no " SWITCH;
	if (geteuid())
		return "only root may read the counters and page frames";
	if (sysconf(_SC_PAGESIZE) != (long)PAGE)
		return "the page size is not 4 KiB";
	return NULL;
}

void print_machine(void)
{
	struct utsname name;

	uname(&name);
	printf("kernel: %s %s %s\n", name.release, name.version, name.machine);
	printf("processor: %s\n", processor());
	printf("memory: %s", field_of("/proc/meminfo", "MemTotal"));
	printf(", swap %s\n", field_of("/proc/meminfo", "SwapTotal"));
	printf("switch: %s", first_line(SWITCH));
	printf(", tables_policy %s", first_line(UNMAP "tables_policy"));
	printf(", max_run %s\n", first_line(UNMAP "max_run"));
	printf("huge pages: %s\n", huge_pages());
}

/* The counters of stat, and the number of TLB flush interrupts (x86). */
struct counter {
	char name[40];
	long long before;
};

static struct counter counters[MAX_COUNTERS];
static unsigned int nr_counters;

typedef void counter_fn(const char *name, long long value);

static void each_counter(counter_fn *fn)
{
	FILE *file = fopen(UNMAP "stat", "re");
	char name[40];
	long long value;

	while (file && fscanf(file, "%39s %lld", name, &value) == 2)
		fn(name, value);
	if (file)
		fclose(file);
	fn("tlb_interrupts", read_interrupts().flushes);
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
