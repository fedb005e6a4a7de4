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
 *
 * per_fault is what was measured by faults, or by touches and nothing else in sparse;
 * clearing the page is in it.  What a thread wrote reads back, or as zero if it was zapped.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define TABLE	(2 * MIB)
#define MAX_THREADS	8
#define TOUCHERS	4
#define ZAPS	4000

struct worker {
	pthread_t thread;
	unsigned char id;
	char *mem;
	size_t len;
};

static pthread_barrier_t barrier;
static atomic_bool stop;

/* Write first: a read would fault once more. */
static void touch(char *byte, unsigned char id)
{
	unsigned char found;

	*byte = id;
	found = READ_ONCE(*byte);
	if (found && found != id)
		fail("thread %u wrote %u and read %u", id, id, found);
}

static void *touch_range(void *arg)
{
	struct worker *worker = arg;

	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < worker->len; i += PAGE)
		touch(worker->mem + i, worker->id);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void *touch_page(void *arg)
{
	struct worker *worker = arg;

	pthread_barrier_wait(&barrier);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		touch(worker->mem, worker->id);
		sched_yield();
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void start(struct worker *workers, unsigned int nr, void *(*fn)(void *))
{
	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (unsigned int i = 0; i < nr; i++) {
		workers[i].id = i + 1;
		if (pthread_create(&workers[i].thread, NULL, fn, &workers[i]))
			fail("cannot make a thread");
	}
}

static void join(struct worker *workers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
}

static void report(u64 instructions, unsigned long pages, unsigned long faults)
{
	metric("instructions", instructions, "instructions");
	metric("pages", pages, "pages");
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
	start(workers, threads, touch_range);
	faults = count_faults();
	instructions = measure_begin();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	instructions = measure_end(instructions);
	faults = count_faults() - faults;
	join(workers, threads);
	if (faults < len / PAGE || take_census(mem, len).pages != len / PAGE)
		fail("%lu faults mapped %lu of %zu pages", faults, take_census(mem, len).pages,
		     len / PAGE);
	report(instructions, len / PAGE, faults);
}

static void run_zapped(void)
{
	struct worker workers[TOUCHERS];
	char *mem = map_anon(TABLE);
	unsigned long faults;
	u64 instructions;

	for (unsigned int i = 0; i < TOUCHERS; i++)
		workers[i].mem = mem + i * TABLE / TOUCHERS;
	start(workers, TOUCHERS, touch_page);
	faults = count_faults();
	instructions = measure_begin();
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < ZAPS; i++) {
		sched_yield();
		advise(mem, TABLE, MADV_DONTNEED);
	}
	atomic_store(&stop, true);
	pthread_barrier_wait(&barrier);
	instructions = measure_end(instructions);
	faults = count_faults() - faults;
	join(workers, TOUCHERS);
	if (faults < ZAPS)
		fail("%lu faults in %u zaps: nothing was there to be zapped", faults, ZAPS);
	advise(mem, TABLE, MADV_DONTNEED);
	check_zero(mem, TABLE);
	report(instructions, faults, faults);
}

static void run_sparse(void)
{
	const size_t len = 8 * GIB;
	const unsigned long tables = len / TABLE;
	char *mem = map_anon(len);
	u64 instructions, zapping;
	unsigned long faults;

	for (int pass = 0; pass < 2; pass++) {
		faults = count_faults();
		instructions = measure_begin();
		for (size_t i = 0; i < len; i += TABLE)
			mem[i] = 1;
		zapping = cpu_time();
		advise(mem, len, MADV_DONTNEED);
		zapping = cpu_time() - zapping;
		instructions = measure_end(instructions);
		faults = count_faults() - faults;
		if (faults < tables)
			fail("%lu faults in %lu tables", faults, tables);
		for (size_t i = 0; i < len; i += TABLE)
			if (count_entries(mem + i, PAGE))
				fail("page %zu is still there", i / PAGE);
	}
	metric("instructions", instructions, "instructions");
	metric("pages", tables, "pages");
	metric("faults", faults, "faults");
	metric("per_fault", (instructions - zapping) / tables, "instructions/fault");
	metric("per_table", zapping / tables, "instructions/table");
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "multifault 1|8|zapped|sparse [--full]");

	thp_only(4);
	if (!strcmp(req.name, "1"))
		run_dense(1, req.full ? GIB : 128 * MIB);
	else if (!strcmp(req.name, "8"))
		run_dense(8, req.full ? GIB : 128 * MIB);
	else if (!strcmp(req.name, "zapped"))
		run_zapped();
	else if (!strcmp(req.name, "sparse"))
		run_sparse();
	else
		fail("unknown case %s: expected 1, 8, zapped or sparse", req.name);
	return 0;
}
