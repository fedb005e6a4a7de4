// SPDX-License-Identifier: GPL-2.0-only
/*
 * multifault CASE: page faults, and what freeing page tables at once costs them.
 *
 * 1, 8:   so many threads write to every page of ranges of their own, 128 MiB in all
 *         (--full: 1 GiB)
 * zapped: four threads write to single pages of one 2 MiB range while another calls
 *         MADV_DONTNEED on all of it, 4000 times
 * sparse: one touch per 2 MiB over 8 GiB, then MADV_DONTNEED of all; the second of
 *         two passes: the first one leaves its tables behind, or does not
 * sparse-kept: the same where empty tables are kept until memory is short
 *         (tables_policy), vmpte_kept, and after one memory.reclaim, vmpte_after
 *
 * per_fault is what was measured by faults, or by touches and nothing else in sparse;
 * clearing the page is in it.  What a thread wrote reads back, or as zero if it was zapped.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "multifault.h"
#include "workload.h"

#define TABLE	(2 * MIB)
#define MAX_THREADS	8
#define TOUCHERS	4
#define ZAPS	4000

static void report_faults(u64 instructions, unsigned long pages, unsigned long faults)
{
	report(instructions, pages);
	metric("faults", faults, "faults");
	metric("per_fault", instructions / faults, "instructions/fault");
}

static void run_dense(unsigned int threads, size_t len)
{
	struct worker workers[MAX_THREADS];
	char *mem = map_anon(len);
	unsigned long faults;
	u64 instructions;

	for (unsigned int i = 0; i < threads; i++) {
		workers[i].len = len / threads;
		workers[i].mem = mem + i * workers[i].len;
	}
	start_workers(workers, threads, touch_range);
	instructions = measure_begin();
	release_workers();
	await_workers();
	instructions = measure_end(instructions);
	faults = measured_faults();
	join_workers(workers, threads);
	if (faults < len / PAGE || take_census(mem, len).pages != len / PAGE)
		fail("%lu faults mapped %lu of %zu pages", faults, take_census(mem, len).pages,
		     len / PAGE);
	report_faults(instructions, len / PAGE, faults);
}

static void run_zapped(void)
{
	struct worker workers[TOUCHERS];
	char *mem = map_anon(TABLE);
	unsigned long faults;
	u64 instructions;

	for (unsigned int i = 0; i < TOUCHERS; i++)
		workers[i].mem = mem + i * TABLE / TOUCHERS;
	start_workers(workers, TOUCHERS, touch_page);
	instructions = measure_begin();
	release_workers();
	for (unsigned int i = 0; i < ZAPS; i++) {
		sched_yield();
		advise(mem, TABLE, MADV_DONTNEED);
	}
	await_workers();
	instructions = measure_end(instructions);
	faults = measured_faults();
	join_workers(workers, TOUCHERS);
	if (faults < ZAPS)
		fail("%lu faults in %u zaps: nothing was there to be zapped", faults, ZAPS);
	advise(mem, TABLE, MADV_DONTNEED);
	check_zero(mem, TABLE);
	report_faults(instructions, faults, faults);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "multifault 1|8|zapped|sparse|sparse-kept [--full]");
	const char *const names[] = { "1", "8", "zapped", "sparse", "sparse-kept" };
	unsigned int nr = 0;

	while (strcmp(req.name, names[nr]))
		if (++nr == sizeof(names) / sizeof(*names))
			fail("unknown case %s: expected 1, 8, zapped, sparse or sparse-kept", req.name);
	settle();
	if (nr < 2)
		run_dense(nr ? 8 : 1, req.full ? GIB : 128 * MIB);
	else if (nr == 2)
		run_zapped();
	else if (nr == 3)
		run_sparse();
	else
		run_sparse_kept();
	return 0;
}
