// SPDX-License-Identifier: GPL-2.0-only
/*
 * movewait CASE: a thread on another processor reads pages at random, while all of them move.
 *
 * move_pages: 64 MiB of single pages go from memory node 0 to node 1 and back
 * compact:    what is left of 512 MiB of single pages on node 1, of which three of four were given
 *             back, is compacted
 *
 * A read waits if it meets a migration entry: longest_wait is the longest read, mean_wait the mean
 * of those that took longer than a fault does (WAIT), both in instructions of both processors;
 * waits is their number, and reads that of all.
 *
 * QEMU lets each processor run until the next timer, so that waits shorter than some milliseconds are
 * not told apart.  (More timers do not help: QEMU 7.2 then lets one processor starve another.)
 *
 * Before and after: each page reads as written, and is where it should be.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lib/datafile.h"
#include "lib/nodes.h"
#include "lib/workers.h"
#include "lib/workload.h"

#define MOVED_LEN	(64 * MIB)
#define RUBBLE_LEN	(512 * MIB)
#define TRIPS		4
#define WAIT		20000	/* instructions */
#define COMPACT		"/sys/devices/system/node/node1/compact"

/**
 * struct pages - single pages of which each is read
 * @mem: all addresses
 * @order: which pages there are, by number, in an order that looks random
 * @nr: how many
 */
static struct pages {
	char *mem;
	size_t len;
	unsigned int *order;
	size_t nr;
} pages;

/**
 * struct reads - how long the reader's reads took
 * @nr: all of them
 * @waits: those that took longer than WAIT
 * @waited: instructions that those took
 * @longest: instructions
 */
static struct reads {
	u64 nr, waits, waited, longest;
} reads;

static void use_processor(int nr)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(nr, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		skip("there is no second processor");
}

static char *page_at(size_t i)
{
	return pages.mem + (size_t)pages.order[i % pages.nr] * PAGE;
}

static void note_read(u64 took)
{
	reads.nr++;
	if (took > reads.longest)
		reads.longest = took;
	if (took <= WAIT)
		return;
	reads.waits++;
	reads.waited += took;
}

static void *read_pages(void *arg)
{
	(void)arg;
	use_processor(1);
	await_release();
	for (size_t i = 0; !workers_stopped(); i++) {
		u64 start = clock_now();

		READ_ONCE(*page_at(i));
		note_read(clock_now() - start);
	}
	work_done();
	return NULL;
}

static void fill(size_t len, int node)
{
	pages.len = len;
	pages.mem = map_anon(len);
	pages.nr = len / PAGE;
	pages.order = make_order(pages.nr, true);
	bind_range(pages.mem, len, node);
	thp_only(4);
	stamp_pages(pages.mem, len, 0);
	check_node(pages.mem, len, node);
}

static void check_pages(void)
{
	if (take_census(pages.mem, pages.len).pages != pages.nr)
		fail("%lu pages are mapped, not %zu", take_census(pages.mem, pages.len).pages,
		     pages.nr);
	for (size_t i = 0; i < pages.nr; i++)
		check_stamps(page_at(i), PAGE, pages.order[i]);
}

/* Give back three of four pages: of the random order the last ones. */
static void scatter(void)
{
	size_t left = pages.nr / 4;

	for (size_t i = left; i < pages.nr; i++)
		advise(page_at(i), PAGE, MADV_DONTNEED);
	pages.nr = left;
}

static void move_to(int node, void **addresses, int *nodes, int *status)
{
	for (size_t i = 0; i < pages.nr; i++) {
		addresses[i] = pages.mem + i * PAGE;
		nodes[i] = node;
	}
	if (move_pages(pages.nr, addresses, nodes, status))
		fail("move_pages() to node %d: %s", node, strerror(errno));
}

static void move_to_and_fro(void)
{
	void **addresses = calloc(pages.nr, sizeof(*addresses));
	int *nodes = calloc(2 * pages.nr, sizeof(*nodes));

	if (!addresses || !nodes)
		fail("out of memory");
	for (int i = 1; i <= TRIPS; i++)
		move_to(i % 2, addresses, nodes, nodes + pages.nr);
}

static void compact(void)
{
	write_text(COMPACT, "1");
}

/* Of this thread, in ns, without the time that it waits. */
static u64 thread_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (u64)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Returns the instructions of the thread that moves: how many the others have depends on waits. */
static u64 measure(void (*move)(void))
{
	struct worker reader;
	u64 start, spent;

	use_processor(0);
	start_workers(&reader, 1, read_pages);
	start = measure_begin();
	release_workers();
	spent = thread_time();
	move();
	spent = thread_time() - spent;
	await_workers();
	measure_end(start);
	join_workers(&reader, 1);
	return spent;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "movewait move_pages|compact");
	bool compacts = !strcmp(req.name, "compact");
	u64 spent, moved;

	if (!compacts && strcmp(req.name, "move_pages"))
		fail("unknown case %s", req.name);
	need_nodes(compacts ? RUBBLE_LEN : MOVED_LEN);
	settle();
	fill(compacts ? RUBBLE_LEN : MOVED_LEN, compacts);
	if (compacts)
		scatter();
	check_pages();
	moved = read_field("/proc/vmstat", "pgmigrate_success");
	spent = measure(compacts ? compact : move_to_and_fro);
	moved = read_field("/proc/vmstat", "pgmigrate_success") - moved;
	check_pages();
	if (!moved || !reads.waits)
		fail("%llu pages moved, %llu reads waited", (unsigned long long)moved,
		     (unsigned long long)reads.waits);

	report(spent, moved);
	metric("longest_wait", reads.longest, "instructions");
	metric("mean_wait", reads.waited / reads.waits, "instructions");
	metric("waits", reads.waits, "reads");
	metric("reads", reads.nr, "reads");
	return 0;
}
