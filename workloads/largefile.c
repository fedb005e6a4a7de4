// SPDX-License-Identifier: GPL-2.0-only
/*
 * largefile CASE: page tables of one process that maps a file larger than its memory.
 *
 * in-order: 1 GiB of a file on XFS, mapped and read once from the start to the end, by a control
 *        group that may use 32 MiB (--full: 8 GiB).
 * at-random: a page in each 2 MiB of 24 GiB, in random order, four times over, by a group that may
 *        use 64 MiB.  The pages make 48 MiB, their tables as much.  Each page takes 100 us, as one
 *        that a solid-state disk reads.
 *
 * The file has no blocks on the disk: what is read is zero.  The group must not swap.  Tables count
 * as old after 200 ms.  Needs a kernel with CONFIG_LRU_GEN (bench --lru-gen 0), without which no
 * full tables are dropped.
 *
 * The cost is the CPU time of the process; waiting is not counted (elapsed: with it).
 * tables_peak, and the curve: page tables in percent of what the group may use
 * major: major faults in the last of the four times
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/datafile.h"
#include "lib/tables.h"
#include "lib/workload.h"

#define PATH		"/mnt/largefile"
#define IDLE_PATH	"/sys/kernel/mm/unmap/drop_idle_ms"
#define IDLE_TEXT	"200"
#define BLOCKS		12288UL		/* of a table each, in at-random */
#define ROUNDS		4
#define DISK_US		100
#define SAMPLES		64		/* of the size of the tables, in each round */

static const char *mem;
static size_t len, limit;
static u64 peak;
static u64 samples;

static void sample_tables(void)
{
	u64 tables = vmpte() * 1024;

	peak = tables > peak ? tables : peak;
	point("tables", samples++, tables * 100 / limit);
}

static void read_page(size_t at)
{
	if (*(const volatile u64 *)(mem + at))
		fail("the file does not read as zero");
}

static void read_in_order(void)
{
	for (size_t at = 0; at < len; at += PAGE) {
		read_page(at);
		if ((at + PAGE) % (len / SAMPLES) == 0)
			sample_tables();
	}
}

static void read_at_random(const unsigned int *order)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		read_page(order[i] * TABLE + i * 7 % (TABLE / PAGE) * PAGE);
		usleep(DISK_US);
		if ((i + 1) % (BLOCKS / SAMPLES) == 0)
			sample_tables();
	}
}

static u64 count_major(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_majflt;
}

static u64 read_rounds(void)
{
	unsigned int *order = make_order(BLOCKS, true);
	u64 major = 0;

	for (int i = 0; i < ROUNDS; i++) {
		major = count_major();
		read_at_random(order);
	}
	return count_major() - major;
}

static void map_the_file(int advice)
{
	int fd = make_file(PATH, 0);

	if (ftruncate(fd, len))
		fail("cannot make a file of %zu bytes", len);
	mem = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		fail("cannot map the file");
	advise((void *)mem, len, advice);
	unlink(PATH);
}

static void limit_memory(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", limit);
	write_text(CGROUP "/memory.max", text);
	write_text(CGROUP "/memory.swap.max", "0");
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "largefile CASE [--full]");
	bool random = !strcmp(req.name, "at-random");
	u64 elapsed, time, major = 0;

	if (!random && strcmp(req.name, "in-order"))
		fail("unknown case %s: expected in-order or at-random", req.name);
	len = random ? BLOCKS * TABLE : req.full ? 8 * GIB : GIB;
	limit = random ? 64 * MIB : 32 * MIB;
	if (path_exists(IDLE_PATH))
		write_text(IDLE_PATH, IDLE_TEXT);
	settle();
	enter_cgroup();
	map_the_file(random ? MADV_RANDOM : MADV_NORMAL);
	limit_memory();

	time = cpu_time();
	elapsed = measure_begin();
	if (random)
		major = read_rounds();
	else
		read_in_order();
	elapsed = measure_end(elapsed);

	report(cpu_time() - time, random ? BLOCKS * ROUNDS : len / PAGE);
	metric("elapsed", elapsed, "ns");
	quotient_metric("tables_peak", peak * 100, limit, "%");
	metric("tables_end", vmpte(), "kB");
	if (random)
		metric("major", major, "faults");
	munmap((void *)mem, len);
	leave_cgroup();
	return 0;
}
