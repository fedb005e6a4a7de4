// SPDX-License-Identifier: GPL-2.0-only
/*
 * allocators PROGRAM|PROGRAM-live: an allocator returns its free memory to the kernel.
 *
 * PROGRAM is jemalloc or go: a separate program in workloads/allocators/, linked with that
 * allocator.  Both programs do the same.  They fill their heap with objects of many sizes
 * and random lifetimes, free all of them (-live: all but one in a thousand), run the
 * garbage collector if there is one, and print "freed".  On a newline they make their
 * allocator return free memory to the kernel, which is measured.  At the end they check
 * the content of the objects that were not freed.
 *
 * instructions: the CPU time of the program's threads meanwhile.
 * vmpte_before, rss_before: page tables and memory after the objects were freed;
 * vmpte_after, rss_after: after the allocator returned memory.  The heap has no large
 * folios: see settle().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/workload.h"

/* A running program, and the pipes to its stdin and from its stdout. */
struct heap {
	pid_t pid;
	FILE *in, *out;
};

struct sizes {
	u64 vmpte, rss;		/* kB */
};

static __noreturn void run_program(const char *name, const char *mode, int in, int out)
{
	char program[40];

	snprintf(program, sizeof(program), "allocators_%s", name);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	closefrom(STDERR_FILENO + 1);
	execlp(program, program, mode, NULL);
	if (errno == ENOENT)
		skip("there is no %s for this machine", program);
	fail("cannot run %s: %s", program, strerror(errno));
}

static struct heap start_program(const char *name, const char *mode)
{
	struct heap heap;
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		fail("no pipe: %s", strerror(errno));
	heap.pid = fork();
	if (!heap.pid)
		run_program(name, mode, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	heap.in = fdopen(to[1], "w");
	heap.out = fdopen(from[0], "r");
	return heap;
}

static __noreturn void program_ended(const struct heap *heap)
{
	int status;

	if (waitpid(heap->pid, &status, 0) == heap->pid && WIFEXITED(status) && WEXITSTATUS(status))
		exit(WEXITSTATUS(status));	/* the program has printed why */
	fail("the program ended too early");
}

/* Read a line from the program; it must begin with @word, and may have two numbers. */
static void await_line(const struct heap *heap, const char *word, u64 numbers[2])
{
	unsigned long long found[2] = { 0 };
	char line[100], said[20] = "";

	if (!fgets(line, sizeof(line), heap->out))
		program_ended(heap);
	if (sscanf(line, "%19s %llu %llu", said, &found[0], &found[1]) < 1 || strcmp(said, word))
		fail("the program said %s instead of %s", line, word);
	for (int i = 0; numbers && i < 2; i++)
		numbers[i] = found[i];
}

static void tell(const struct heap *heap)
{
	fputc('\n', heap->in);
	fflush(heap->in);
}

static void end_program(const struct heap *heap)
{
	int status;

	tell(heap);
	if (waitpid(heap->pid, &status, 0) != heap->pid || status)
		fail("the program ended with status %#x", status);
}

static u64 program_time(const struct heap *heap)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(heap->pid, &clock) || clock_gettime(clock, &ts))
		fail("the program has no clock");
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static struct sizes take_sizes(const struct heap *heap)
{
	char path[40];
	struct sizes sizes;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", heap->pid);
	if (read_field(path, "AnonHugePages:"))
		fail("PMDs map some of the heap");
	sizes.rss = read_field(path, "Rss:");
	snprintf(path, sizeof(path), "/proc/%d/status", heap->pid);
	sizes.vmpte = read_field(path, "VmPTE:");
	return sizes;
}

static u64 measure_purge(const struct heap *heap)
{
	u64 start = measure_begin(), used = program_time(heap);

	tell(heap);
	await_line(heap, "purged", NULL);
	used = program_time(heap) - used;
	measure_end(start);
	return used;
}

static void run(const char *name, const char *mode)
{
	struct heap heap = start_program(name, mode);
	struct sizes before, after;
	u64 amount[2], used;

	await_line(&heap, "filled", amount);
	await_line(&heap, "freed", NULL);
	before = take_sizes(&heap);
	used = measure_purge(&heap);
	after = take_sizes(&heap);
	end_program(&heap);
	if (after.rss >= before.rss)
		fail("nothing was given back");
	report(used, (before.rss - after.rss) * 1024 / PAGE);
	metric("vmpte_before", before.vmpte, "kB");
	metric("vmpte_after", after.vmpte, "kB");
	metric("rss_before", before.rss, "kB");
	metric("rss_after", after.rss, "kB");
	metric("objects", amount[0], "objects");
	metric("heap", amount[1] >> 10, "kB");
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv,
					   "allocators jemalloc|jemalloc-live|go|go-live [--full]");

	if (!strcmp(req.name, "jemalloc") || !strcmp(req.name, "go")) {
		settle();
		run(req.name, "all");
	} else if (!strcmp(req.name, "jemalloc-live")) {
		settle();
		run("jemalloc", "live");
	} else if (!strcmp(req.name, "go-live")) {
		settle();
		run("go", "live");
	} else {
		fail("unknown case %s: expected jemalloc, go, or one of them with -live", req.name);
	}
	return 0;
}
