// SPDX-License-Identifier: GPL-2.0-only
/*
 * pageout_rate NxN: N processes, each with a 2 MiB file of its own on XFS, map it
 * privately, read every page and call MADV_PAGEOUT, 64 times (--full: 1024).
 *
 * The cost of a round is the CPU time of its process, reading included; waiting for the
 * disk is not counted.  The profiler counts from the release of the processes until the
 * last one has ended.
 *
 * Before: every page reads as written.  After: every round has read its whole file from
 * the disk, so the round before it had evicted every page; nothing is mapped or cached;
 * every page reads as written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/datafile.h"
#include "lib/workload.h"

#define SIZE	(2 * MIB)
#define MAX_PROCESSES	16

static void read_pages(const char *mem)
{
	for (size_t i = 0; i < SIZE; i += PAGE)
		READ_ONCE(mem[i]);
}

static u64 play(char *mem, unsigned long rounds)
{
	u64 start = cpu_time();

	for (unsigned long i = 0; i < rounds; i++) {
		read_pages(mem);
		advise(mem, SIZE, MADV_PAGEOUT);
	}
	return cpu_time() - start;
}

/* One process; it stores its CPU time in @result. */
static __noreturn void run_child(unsigned int nr, unsigned long rounds, u64 *result)
{
	char path[40], *mem;

	snprintf(path, sizeof(path), "/mnt/pageout_rate.%u", nr);
	mem = map_file(make_file(path, SIZE), SIZE, MAP_PRIVATE);
	check_contents(mem, SIZE);
	check_ptes();
	advise(mem, SIZE, MADV_PAGEOUT);
	child_prepared();

	*result = play(mem, rounds);
	if (count_entries(mem, SIZE) || count_cached(mem, SIZE))
		fail("%lu pages are still mapped, %lu still cached",
		     count_entries(mem, SIZE), count_cached(mem, SIZE));
	check_contents(mem, SIZE);
	unlink(path);
	_exit(0);
}

/* Each round reads every file once, and so does the check at the end. */
static void check_read(u64 kib, unsigned long files)
{
	if (kib < files * (SIZE >> 10))
		fail("only %llu of %lu kB came from the disk: some rounds left pages cached",
		     (unsigned long long)kib, files * (SIZE >> 10));
}

/* Returns the CPU time of all processes together. */
static u64 run(unsigned int processes, unsigned long rounds)
{
	u64 *results = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[MAX_PROCESSES];
	u64 start, read, sum = 0;

	if (results == MAP_FAILED)
		fail("cannot map a page: %s", strerror(errno));
	for (unsigned int i = 0; i < processes; i++) {
		pids[i] = fork();
		if (!pids[i])
			run_child(i, rounds, &results[i]);
		await_child(pids[i]);
	}
	read = read_field("/proc/vmstat", "pgpgin ");
	start = measure_begin();
	for (unsigned int i = 0; i < processes; i++)
		release_child(pids[i]);
	for (unsigned int i = 0; i < processes; i++)
		reap_child(pids[i]);
	measure_end(start);
	check_read(read_field("/proc/vmstat", "pgpgin ") - read, processes * (rounds + 1));
	for (unsigned int i = 0; i < processes; i++)
		sum += results[i];
	return sum;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "pageout_rate 1x1|4x4 [--full]");
	unsigned long rounds = req.full ? 1024 : 64;
	unsigned int processes, files;
	u64 instructions;

	if (sscanf(req.name, "%ux%u", &processes, &files) != 2 || processes != files ||
	    !processes || processes > MAX_PROCESSES)
		fail("unknown case %s: expected 1x1 to %dx%d", req.name, MAX_PROCESSES,
		     MAX_PROCESSES);
	settle();
	instructions = run(processes, rounds);
	rounds *= processes;
	report(instructions, rounds * (SIZE / PAGE));
	metric("rounds", rounds, "rounds");
	metric("per_round", instructions / rounds, "instructions/round");
	return 0;
}
