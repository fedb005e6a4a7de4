// SPDX-License-Identifier: GPL-2.0-only
/* Failures on demand: see fault_util.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fault_util.h"
#include "unmap_util.h"

#define MANY	1000000000L
#define WINDOWS	"/sys/kernel/debug/unmap_windows"

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

bool clock_is_exact(void)
{
	const char *clock = getenv("UNMAP_CLOCK");

	return !clock || strcmp(clock, "host");
}

/*
 * The address range of a kernel function.  Shared memory: the processes of all tests look
 * a function up only once.
 */
struct symbol {
	char name[40];
	unsigned long start, end;
};

static struct symbol *symbols;
#define NR_SYMBOLS	16

__attribute__((constructor)) static void share_symbols(void)
{
	symbols = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* The compiler may have appended a suffix (".constprop.0"). */
static bool is_name(const char *found, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(found, name, len) && (!found[len] || found[len] == '.');
}

static bool find_symbol(struct symbol *symbol, const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[256], found[128];
	unsigned long addr;

	if (!file)
		return false;
	while (!symbol->end && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %127s", &addr, found) != 2)
			continue;
		if (symbol->start && addr > symbol->start)
			symbol->end = addr;
		else if (!symbol->start && is_name(found, name))
			symbol->start = addr;
	}
	fclose(file);
	snprintf(symbol->name, sizeof(symbol->name), "%s", name);
	return symbol->end;
}

static struct symbol *look_up(const char *name)
{
	for (int i = 0; i < NR_SYMBOLS; i++) {
		if (!strcmp(symbols[i].name, name))
			return symbols[i].end ? &symbols[i] : NULL;
		if (!symbols[i].name[0])
			return find_symbol(&symbols[i], name) ? &symbols[i] : NULL;
	}
	return NULL;
}

static bool set(const char *what, const char *file, const char *format, unsigned long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", what, file);
	snprintf(text, sizeof(text), format, value);
	return write_text(path, text);
}

static bool set_range(const char *what, unsigned long start, unsigned long end)
{
	return set(what, "stacktrace-depth", "%lu", 32) &&
	       set(what, "require-start", "%#lx", start) &&
	       set(what, "require-end", "%#lx", end);
}

static bool set_where(const char *what, const char *below)
{
	const struct symbol *symbol;

	if (!set(what, "task-filter", "%lu", 1))
		return false;
	if (!below)
		return set_range(what, 0, -1UL);
	symbol = look_up(below);
	return symbol && set_range(what, symbol->start, symbol->end);
}

/* Keep the file open: opening it again to end the failures might fail. */
bool faults_task(bool on)
{
	static int fd = -1;
	bool done;

	if (fd < 0)
		fd = open("/proc/self/make-it-fail", O_WRONLY);
	done = fd >= 0 && pwrite(fd, on ? "1" : "0", 1, 0) == 1;
	if (!on && fd >= 0) {
		close(fd);
		fd = -1;
	}
	return done;
}

bool faults_on(const char *what, const char *below, int percent)
{
	/* This task only: an interrupt that arrives below that function allocates, too. */
	if (!set_where(what, below) || (below && !faults_task(true)))
		return false;
	/* Make allocations that may sleep fail, too. */
	set(what, "ignore-gfp-wait", "%lu", 0);
	set(what, "ignore-gfp-highmem", "%lu", 0);
	set(what, "min-order", "%lu", 0);
	return set(what, "verbose", "%lu", 0) && set(what, "interval", "%lu", 1) &&
	       set(what, "times", "%lu", MANY) && set(what, "probability", "%lu", percent);
}

long faults_off(const char *what)
{
	char path[128];
	long long left;

	set(what, "probability", "%lu", 0);
	faults_task(false);
	set_range(what, 0, -1UL);
	set(what, "task-filter", "%lu", 0);
	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/times", what);
	left = read_field(path, "");
	return left < 0 ? -1 : MANY - left;
}

long long windows_opened(void)
{
	char text[32];

	return read_text(WINDOWS, text, sizeof(text)) ? strtoll(text, NULL, 10) : -1;
}

static void set_parameter(const char *path, unsigned long value)
{
	if (!access(path, W_OK))
		write_number(path, value);
}

void table_window(unsigned int us)
{
	set_parameter("/sys/module/unmap/parameters/window", us);
}

void table_window_at(long long nr)
{
	set_parameter("/sys/module/unmap/parameters/window_at", nr);
}
