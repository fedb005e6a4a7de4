// SPDX-License-Identifier: GPL-2.0-only
/* What every measured program shares: see workload.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

#define EXIT_SKIP	4

#define PM_PRESENT	BIT_ULL(63)
#define PM_PFN_MASK	(BIT_ULL(55) - 1)
#define KPF_COMPOUND_TAIL	BIT_ULL(16)

#define BATCH	512

static __noreturn void leave(int status, const char *fmt, va_list args)
{
	fflush(stdout);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	exit(status);
}

void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	leave(EXIT_FAILURE, fmt, args);
}

void skip(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	leave(EXIT_SKIP, fmt, args);
}

struct request parse_request(int argc, char **argv, const char *usage)
{
	struct request req = { .name = argc > 1 ? argv[1] : NULL };

	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--full"))
			fail("unknown argument %s; usage: %s", argv[i], usage);
		req.full = true;
	}
	if (!req.name)
		fail("which case? usage: %s", usage);
	return req;
}

/* No-ops that the profiler knows: profiler/decode.c has the other half. */
#ifdef __x86_64__
#define MARK_BEGIN	"nopl 0x53574201(%%rax,%%rax,1)"
#define MARK_END	"nopl 0x53574202(%%rax,%%rax,1)"
#define MARK_REPORT	"nopl 0x53574203(%%rax,%%rax,1)"
#else
#define MARK_BEGIN	"movz xzr, #0x5361"
#define MARK_END	"movz xzr, #0x5362"
#define MARK_REPORT	"movz xzr, #0x5363"
#endif

static u64 read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

u64 measure_begin(void)
{
	u64 start = read_clock(CLOCK_MONOTONIC);

	asm volatile(MARK_BEGIN ::: "memory");
	return start;
}

u64 measure_end(u64 start)
{
	asm volatile(MARK_END ::: "memory");
	return read_clock(CLOCK_MONOTONIC) - start;
}

u64 cpu_time(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

unsigned long count_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

void metric(const char *name, u64 value, const char *unit)
{
	/* What was counted last is what is reported: earlier passes are not. */
	asm volatile(MARK_REPORT ::: "memory");
	printf("= %s %llu %s\n", name, (unsigned long long)value, unit);
}

void child_prepared(void)
{
	raise(SIGSTOP);
}

static int wait_child(pid_t pid, int options)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, options) != pid)
		fail("there is no child: %s", strerror(errno));
	if (WIFSIGNALED(status))
		fail("the child was killed by signal %d", WTERMSIG(status));
	if (WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));	/* it said why */
	return status;
}

void await_child(pid_t pid)
{
	if (!WIFSTOPPED(wait_child(pid, WUNTRACED)))
		fail("the child ended too early");
}

void release_child(pid_t pid)
{
	kill(pid, SIGCONT);
}

void bury_child(pid_t pid)
{
	wait_child(pid, 0);
}

bool path_exists(const char *path)
{
	return !access(path, F_OK);
}

void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	ssize_t len = strlen(text);

	if (fd < 0)
		fail("cannot open %s: %s", path, strerror(errno));
	if (write(fd, text, len) != len)
		fail("cannot write '%s' to %s: %s", text, path, strerror(errno));
	close(fd);
}

u64 read_field(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	size_t len = strlen(key);
	u64 value = 0;
	char line[256];

	if (!file)
		fail("cannot open %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, len))
			continue;
		value = strtoull(line + len, NULL, 10);
		break;
	}
	fclose(file);
	return value;
}

u64 read_number(const char *path)
{
	return read_field(path, "");
}

static void thp_set(const char *dir, const char *mode)
{
	char path[300];

	snprintf(path, sizeof(path), THP "%s/enabled", dir);
	if (path_exists(path))	/* the smallest sizes exist for shmem alone */
		write_text(path, mode);
}

void thp_only(unsigned long kib)
{
	DIR *dir = opendir(THP);
	char wanted[64];
	struct dirent *entry;
	bool found = kib * 1024 == PAGE;

	if (!dir)
		skip("this kernel has no transparent huge pages");
	snprintf(wanted, sizeof(wanted), "hugepages-%lukB", kib);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "hugepages-", 10))
			continue;
		thp_set(entry->d_name, "never");
		found |= !strcmp(entry->d_name, wanted);
	}
	closedir(dir);
	if (!found)
		skip("this kernel has no anonymous folios of %lu KiB", kib);
	if (kib * 1024 != PAGE)
		thp_set(wanted, "always");
}

u64 thp_stat(unsigned long kib, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), THP "hugepages-%lukB/stats/%s", kib, name);
	return path_exists(path) ? read_number(path) : 0;
}

unsigned long parse_folio(const char *text)
{
	char *end;
	unsigned long kib = strtoul(text, &end, 10);

	if (strcmp(end, "K") || kib * 1024 < PAGE || kib & (kib - 1))
		fail("unknown case %s: expected a folio size such as 4K, 64K or 1024K", text);
	return kib;
}

char *map_anon(size_t len)
{
	const size_t align = 2 * MIB;
	char *raw = mmap(NULL, len + align, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *start;

	if (raw == MAP_FAILED)
		fail("cannot map %zu MiB: %s", len >> 20, strerror(errno));
	start = (char *)(((uintptr_t)raw + align - 1) & ~(align - 1));
	if (start > raw)
		munmap(raw, start - raw);
	munmap(start + len, align - (start - raw));
	return start;
}

void __advise(void *mem, size_t len, int advice, const char *name)
{
	if (madvise(mem, len, advice))
		fail("madvise(%s) failed: %s", name, strerror(errno));
}

void check_zero(const char *mem, size_t len)
{
	for (size_t i = 0; i < len; i += PAGE / 8)
		if (mem[i])
			fail("page %zu kept a byte that was freed", i / PAGE);
}

static int open_proc(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		skip("cannot open %s: %s", path, strerror(errno));
	return fd;
}

static void read_words(int fd, u64 *words, size_t nr, u64 index)
{
	ssize_t len = nr * sizeof(*words);

	if (pread(fd, words, len, index * sizeof(*words)) != len)
		fail("short read of page information at %llu", (unsigned long long)index);
}

typedef void entry_fn(u64 entry, unsigned long index, void *arg);

/* Call @fn with the pagemap entry of every page of the range. */
static void visit_entries(const void *start, size_t len, entry_fn *fn, void *arg)
{
	unsigned long first = (uintptr_t)start / PAGE, pages = len / PAGE;
	int fd = open_proc("/proc/self/pagemap");
	u64 entries[BATCH];

	for (unsigned long i = 0; i < pages; i++) {
		unsigned long left = pages - i;

		if (i % BATCH == 0)
			read_words(fd, entries, left < BATCH ? left : BATCH, first + i);
		fn(entries[i % BATCH], i, arg);
	}
	close(fd);
}

struct folio_walk {
	int kpageflags;
	unsigned long folio_pages;	/* 0: any size will do */
	struct census census;
};

static void visit_page(u64 entry, unsigned long index, void *arg)
{
	struct folio_walk *walk = arg;
	u64 flags;
	bool tail;

	if (!(entry & PM_PRESENT)) {
		if (walk->folio_pages)
			fail("page %lu is not mapped", index);
		return;
	}
	read_words(walk->kpageflags, &flags, 1, entry & PM_PFN_MASK);
	tail = flags & KPF_COMPOUND_TAIL;
	if (walk->folio_pages && tail != (index % walk->folio_pages != 0))
		fail("page %lu does not belong to a folio of %lu KiB", index,
		     walk->folio_pages * PAGE / 1024);
	walk->census.pages++;
	walk->census.folios += !tail;
}

static struct census walk_folios(const void *start, size_t len, unsigned long folio_pages)
{
	struct folio_walk walk = {
		.kpageflags = open_proc("/proc/kpageflags"),
		.folio_pages = folio_pages,
	};

	visit_entries(start, len, visit_page, &walk);
	close(walk.kpageflags);
	return walk.census;
}

struct census take_census(const void *start, size_t len)
{
	return walk_folios(start, len, 0);
}

void check_folios(const void *start, size_t len, unsigned long kib)
{
	walk_folios(start, len, kib * 1024 / PAGE);
}

static void count_entry(u64 entry, unsigned long index, void *arg)
{
	(void)index;
	/* Bit 55 (soft-dirty) and bit 56 (exclusive) say nothing about a page being there. */
	if (entry & ~(3ULL << 55))
		++*(unsigned long *)arg;
}

unsigned long count_entries(const void *start, size_t len)
{
	unsigned long entries = 0;

	visit_entries(start, len, count_entry, &entries);
	return entries;
}
