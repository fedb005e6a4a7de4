// SPDX-License-Identifier: GPL-2.0-only
/* Page faults, and the rows of many threads, each on a CPU of its own: see measure.h. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../workloads/lib/workers.h"
#include "measure.h"

#define PIECE	(64UL << 10)

unsigned int nr_threads(void)
{
	return nr_cpus() < MAX_THREADS ? nr_cpus() : MAX_THREADS;
}

static char *map_small(size_t len)
{
	char *mem = map_anon(len);

	madvise(mem, len, MADV_NOHUGEPAGE);
	return mem;
}

static void note_faults(struct sample *sample, u64 pages)
{
	if (measured_faults() < pages)
		skip("%lu faults mapped %llu pages: they were not single pages",
		     measured_faults(), (unsigned long long)pages);
	sample->pages = pages;
}

void fault_alone(const struct row *row, struct sample *sample)
{
	const size_t len = row_len(row);
	char *mem = map_small(len);
	u64 start = measure_begin();

	for (size_t i = 0; i < len; i += PAGE)
		mem[i] = 1;
	sample->ns = measure_end(start);
	note_faults(sample, len / PAGE);
}

/* Each thread has an equal part of the memory.  Returns the pages of all parts. */
static u64 measure_team(const struct row *row, struct sample *sample, void *(*fn)(void *))
{
	const unsigned int nr = nr_threads();
	const size_t part = row_len(row) / nr / PIECE * PIECE;
	char *mem = map_small(nr * part);
	struct worker workers[MAX_THREADS];
	u64 start;

	if (nr < 2)
		skip("there is only one CPU");
	for (unsigned int i = 0; i < nr; i++) {
		workers[i].mem = mem + i * part;
		workers[i].len = part;
	}
	start_workers(workers, nr, fn);
	start = measure_begin();
	release_workers();
	await_workers();
	sample->ns = measure_end(start);
	join_workers(workers, nr);
	return nr * part / PAGE;
}

static void *fault_part(void *arg)
{
	struct worker *worker = arg;

	use_cpu(worker->id - 1);
	return touch_range(worker);
}

void fault_together(const struct row *row, struct sample *sample)
{
	note_faults(sample, measure_team(row, sample, fault_part));
}

/*
 * Discard 64 KiB at a time.  All threads run, so that each call interrupts the other CPUs
 * to flush their TLBs.
 */
static void *discard_part(void *arg)
{
	struct worker *worker = arg;

	use_cpu(worker->id - 1);
	for (size_t i = 0; i < worker->len; i += PAGE)
		worker->mem[i] = 1;
	await_release();
	for (size_t i = 0; i < worker->len; i += PIECE)
		advise(worker->mem + i, PIECE, MADV_DONTNEED);
	work_done();
	return NULL;
}

void discard_together(const struct row *row, struct sample *sample)
{
	sample->pages = measure_team(row, sample, discard_part);
}
