// SPDX-License-Identifier: GPL-2.0-only
/* What the programs for real machines read about the machine: see machine.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define LINE	400

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

const char *first_line(const char *path)
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

const char *field_of(const char *path, const char *key)
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

/* The flags of a processor make a long line. */
static bool is_guest(void)
{
	char line[8192];
	FILE *file = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, " hypervisor");
	if (file)
		fclose(file);
	return found;
}

/* Append to @text, of @size bytes, what fits. */
__printf(3, 4)
static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + len, size - len, fmt, args);
	va_end(args);
}

const char *processor(void)
{
	static char text[LINE];

	text[0] = '\0';
	append(text, sizeof(text), "%s", field_of("/proc/cpuinfo", "model name"));
	append(text, sizeof(text), ", microcode %s", field_of("/proc/cpuinfo", "microcode"));
	append(text, sizeof(text), ", %u in use%s", nr_cpus(),
	       is_guest() ? ", in a virtual machine" : "");
	return text;
}

const char *huge_pages(void)
{
	static char text[LINE];
	DIR *dir = opendir(THP);
	struct dirent *entry;
	char path[400];

	snprintf(text, sizeof(text), "%s", dir ? first_line(THP "enabled") : "none");
	while (dir && (entry = readdir(dir))) {
		const char *mode;

		snprintf(path, sizeof(path), THP "%s/enabled", entry->d_name);
		mode = strncmp(entry->d_name, "hugepages-", 10) ? "" : first_line(path);
		if (*mode && !strstr(mode, "[never]"))
			append(text, sizeof(text), "; %s %s", entry->d_name, mode);
	}
	if (dir)
		closedir(dir);
	return text;
}

/* Add up the numbers of a line, and return the text behind them. */
static const char *add_up(const char *line, u64 *sum)
{
	const char *at = strchr(line, ':');
	char *end;

	*sum = 0;
	for (at = at ? at + 1 : line; ; at = end) {
		u64 number = strtoull(at, &end, 10);

		if (end == at)
			return at;
		*sum += number;
	}
}

struct interrupts read_interrupts(void)
{
	FILE *file = fopen("/proc/interrupts", "re");
	struct interrupts found = { 0 };
	char *line = NULL;
	size_t size = 0;
	u64 sum;

	while (file && getline(&line, &size, file) > 0) {
		const char *name = add_up(line, &sum);

		if (strstr(name, "TLB shootdowns"))
			found.flushes += sum;
		else if (strstr(name, "Function call interrupts"))
			found.calls += sum;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* splitmix64 */
u64 draw(struct random *random)
{
	u64 z = random->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

unsigned int below(struct random *random, unsigned int limit)
{
	return draw(random) % limit;
}
