// SPDX-License-Identifier: GPL-2.0-only
/*
 * multifault CASE: page faults, and what they pay for page tables that are freed early.
 *
 * 1, 8:   1 or 8 threads write to every page of their own part of 128 MiB
 *         (--full: 1 GiB)
 * zapped: four threads write to single pages of one 2 MiB range while another calls
 *         MADV_DONTNEED on all of it, 4000 times
 * sparse: touch one page per 2 MiB of 8 GiB, then MADV_DONTNEED of all; the second of
 *         two passes is reported, because the first may leave its tables behind
 * sparse-kept: the same with tables_policy "pressure", which keeps empty tables
 *         (vmpte_kept) until memory.reclaim (vmpte_after)
 *
 * per_fault: instructions for each fault; in sparse, of the touches alone.  It includes
 * clearing the page.  Checked: a page reads as its thread wrote it, or as zero if another
 * thread zapped it.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/workers.h"
#include "lib/workload.h"
#include "multifault.h"

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
		fail("%lu faults in %u zaps: most zaps found no page", faults, ZAPS);
	advise(mem, TABLE, MADV_DONTNEED);
	check_zero(mem, TABLE);
	report_faults(instructions, faults, faults);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv,
					   "multifault 1|8|zapped|sparse|sparse-kept [--full]");
	const char *const names[] = { "1", "8", "zapped", "sparse", "sparse-kept" };
	unsigned int nr = 0;

	while (strcmp(req.name, names[nr]))
		if (++nr == ARRAY_SIZE(names))
			fail("unknown case %s: expected 1, 8, zapped, sparse or sparse-kept",
			     req.name);
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
