// SPDX-License-Identifier: GPL-2.0-only
/* The first lines of the block: the machine.  See measure.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define CPU	"/sys/devices/system/cpu/"
#define TEXT	800

/* Settings as the program found them. */
static struct {
	char huge_pages[TEXT], memory[TEXT], mitigations[TEXT], policy[100], clock[40];
} found;

/* "SIZE MiB" of a line of /proc/meminfo. */
static unsigned long long mib_of(const char *key)
{
	return read_field("/proc/meminfo", key) / 1024;
}

static void note_memory(void)
{
	const char *zswap = first_line("/sys/module/zswap/parameters/enabled");
	int len = snprintf(found.memory, TEXT, "%llu MiB, %llu MiB free; swap %llu MiB",
			   mib_of("MemTotal:"), mib_of("MemFree:"), mib_of("SwapTotal:"));

	snprintf(found.memory + len, TEXT - len, "%s", *zswap == 'Y' ? ", zswap" : "");
}

/* The status without its first word, "Mitigation:", and without details. */
static void add_mitigation(const char *name)
{
	static const char prefix[] = "Mitigation: ";
	size_t len = strlen(found.mitigations);
	char path[400];
	const char *status;

	snprintf(path, sizeof(path), CPU "vulnerabilities/%s", name);
	status = first_line(path);
	if (!*status || !strncmp(status, "Not affected", 12))
		return;
	status += strncmp(status, prefix, strlen(prefix)) ? 0 : strlen(prefix);
	snprintf(found.mitigations + len, TEXT - len, "%s%s %.*s", len ? "; " : "", name,
		 (int)strcspn(status, ";,"), status);
}

static void note_mitigations(void)
{
	DIR *dir = opendir(CPU "vulnerabilities");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_mitigation(entry->d_name);
	if (!*found.mitigations)
		snprintf(found.mitigations, TEXT, "%s", dir ? "none needed" : "not told");
	if (dir)
		closedir(dir);
}

void note_machine(void)
{
	snprintf(found.huge_pages, TEXT, "%s", huge_pages());
	snprintf(found.policy, sizeof(found.policy), "%s", first_line(UNMAP "tables_policy"));
	snprintf(found.clock, sizeof(found.clock), "%s",
		 first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
	note_memory();
	note_mitigations();
}

static void print_kernel(void)
{
	char today[40];
	time_t now = time(NULL);
	struct utsname name;

	uname(&name);
	strftime(today, sizeof(today), "%F %R UTC", gmtime(&now));
	head("date", "%s", today);
	head("kernel", "%s %s %s", name.release, name.version, name.machine);
}

static void print_machine(void)
{
	const char *lru = first_line("/sys/kernel/mm/lru_gen/enabled");

	head("processor", "%s", processor());
	head("memory", "%s; lru_gen %s; clock %s", found.memory, *lru ? lru : "none", found.clock);
	head("huge pages", "%s%s", found.huge_pages,
	     options.thp ? "; madvise for 64, 1024 and 2048 kB in this run" : "");
	head("mitigations", "%s", found.mitigations);
}

static void print_run(void)
{
	head("run", "%u %s, seed %llu; %lu MiB; many: %u threads; %s; file in %s", options.pairs,
	     nr_states() > 1 ? "pairs" : "times", (unsigned long long)options.seed, options.mib,
	     nr_threads(), geteuid() ? "not as root" : "as root", describe_dir());
}

static void explain(void)
{
	head("units", "off, on, now: ns a page, or a table (ptetables, multifault:sparse); mad: "
	     "their deviation; change: per cent, median of the pairs; from, to: its 99 %% "
	     "interval; pages: of a call; tlb, calls: interrupts of all CPUs; vmpte: kB of page "
	     "tables left; cycles, instructions, misses (l1d, l2, llc, dtlb, dtlb_store): a page, in "
	     "user space and kernel; ~: an estimate, of an event that shared its counter");
}

void print_head(void)
{
	print_kernel();
	print_machine();
	head("switch", "%s%s%s", switch_text(), *found.policy ? "; tables_policy " : "",
	     found.policy);
	print_run();
	explain();
}
