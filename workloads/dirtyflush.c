// SPDX-License-Identifier: GPL-2.0-only
/*
 * dirtyflush CPUSxSIZE[-shmem][-reclaim][-four|-shuffled]: reclaim of 32 MiB (--mib N) of
 * written folios of SIZE to zram, while threads of the process run on CPUS processors, so that
 * each flush of what its TLBs hold interrupts all of them but one.
 *
 * -shmem:    shared anonymous memory; without, private
 * -reclaim:  three quarters of it, idle, by memory.reclaim; without, all of it by MADV_PAGEOUT
 * -four:     faulted in by four threads, a quarter each, which take turns
 * -shuffled: faulted in by one thread, folio by folio in an order that looks random
 *
 * flush_ipis: flushes that processors did because another one asked for them, a page (x86:
 * TLB shootdowns in /proc/interrupts).  The clock counts the instructions of all processors:
 * the interrupts, and the loops of the threads, which are short: each PAUSE ends a turn.
 *
 * Before: every folio has the size of the case, and each other thread runs on its processor.
 * After: the pages are gone (MADV_PAGEOUT: all, memory.reclaim: as many as asked for, less
 * a tenth), and every page reads back as written.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dirtyflush.h"
#include "lib/cgroup.h"
#include "lib/workers.h"

#define CASES	"CPUSxSIZE[-shmem][-reclaim][-four|-shuffled]"

static atomic_uint busy;

/* The sum of a line's columns, one for each processor. */
static u64 sum_of(const char *columns)
{
	u64 sum = 0, value;
	char *end;

	for (;; columns = end) {
		value = strtoull(columns, &end, 10);
		if (end == columns)
			return sum;
		sum += value;
	}
}

/* TLB flushes so far that a processor did at another one's request. */
static u64 count_flushes(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[1024];
	u64 sum = 0;

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "TLB shootdowns"))
			sum = sum_of(strchr(line, ':') + 1);
	if (file)
		fclose(file);
	return sum;
}

static void *run_elsewhere(void *arg)
{
	struct worker *worker = arg;

	pin_to(worker->id);
	await_release();
	atomic_fetch_add(&busy, 1);
	while (!workers_stopped())
		relax();
	work_done();
	return NULL;
}

/* Let a thread run on each of the other processors. */
static void occupy(struct worker *workers, unsigned int nr)
{
	start_workers(workers, nr, run_elsewhere);
	release_workers();
	while (atomic_load(&busy) < nr)
		relax();
}

static void evict(const struct plan *plan, char *mem)
{
	char amount[32];

	snprintf(amount, sizeof(amount), "%zu", plan->len / 4 * 3);
	if (plan->reclaim)
		write_text(RECLAIM_PATH, amount);
	else
		advise(mem, plan->len, MADV_PAGEOUT);
}

static u64 check(const struct plan *plan, const char *mem)
{
	const u64 all = plan->len / PAGE, left = take_census(mem, plan->len).pages;
	const u64 asked = plan->reclaim ? all / 4 * 3 / 10 * 9 : all;

	if (all - left < asked)
		fail("%llu of %llu pages are still there", (unsigned long long)left,
		     (unsigned long long)all);
	check_memory();
	return all - left;
}

static void run(const struct plan *plan)
{
	struct worker workers[MAX_CPUS];
	u64 instructions, flushes, pages;
	char *mem = make_memory(plan);

	if (plan->reclaim)
		write_text("/proc/self/clear_refs", "1");
	occupy(workers, plan->cpus - 1);
	flushes = count_flushes();
	instructions = measure_begin();
	evict(plan, mem);
	instructions = measure_end(instructions);
	flushes = count_flushes() - flushes;
	await_workers();
	join_workers(workers, plan->cpus - 1);

	pages = check(plan, mem);
	report(instructions, pages);
	quotient_metric("flush_ipis", flushes, pages, "a_page");
}

/* Cut @suffix off the end of a name; false if the name does not have it. */
static bool take_suffix(char *name, const char *suffix)
{
	size_t len = strlen(name), cut = strlen(suffix);

	if (len <= cut || strcmp(name + len - cut, suffix))
		return false;
	name[len - cut] = '\0';
	return true;
}

static struct plan parse_case(const char *text)
{
	char *name = strdup(text), *size;
	struct plan plan = { .four = take_suffix(name, "-four") };

	plan.shuffled = !plan.four && take_suffix(name, "-shuffled");
	plan.reclaim = take_suffix(name, "-reclaim");
	plan.shmem = take_suffix(name, "-shmem");
	plan.cpus = strtoul(name, &size, 10);
	if (plan.cpus < 2 || plan.cpus > MAX_CPUS || *size != 'x')
		fail("unknown case %s: expected " CASES, text);
	plan.kib = parse_folio(size + 1);
	free(name);
	return plan;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "dirtyflush " CASES " [--mib N]");
	struct plan plan = parse_case(req.name);

	plan.len = wanted_size(&req, 32 * MIB, 32 * MIB);
	if (sysconf(_SC_NPROCESSORS_ONLN) < plan.cpus)
		skip("the case needs %u processors", plan.cpus);
	need_memory(2 * plan.len);
	pin_to(0);
	settle();
	if (plan.reclaim)
		enter_cgroup();
	run(&plan);
	if (plan.reclaim)
		leave_cgroup();
	return 0;
}
