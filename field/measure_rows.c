// SPDX-License-Identifier: GPL-2.0-only
/* The rows of one process: see measure.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../workloads/lib/tables.h"
#include "measure.h"

#define PIECE	(64UL << 10)
#define SWAPPED	(32 * MIB)	/* at most this much goes to swap at once */

static void unmap(char *mem, struct sample *sample, size_t len)
{
	u64 start = measure_begin();

	if (munmap(mem, len))
		fail("munmap failed: %s", strerror(errno));
	sample->ns = measure_end(start);
	sample->pages = len / PAGE;
}

static void zap(const struct row *row, struct sample *sample)
{
	unmap(fill_anon(row_len(row), row->kib), sample, row_len(row));
}

static void zap_dontneed(const struct row *row, struct sample *sample)
{
	const size_t len = row_len(row);
	char *mem = fill_anon(len, row->kib);
	u64 start = measure_begin();

	advise(mem, len, MADV_DONTNEED);
	sample->ns = measure_end(start);
	note_gone(sample, len, count_entries(mem, len));
}

/* The kernel stops counting a process's events before it frees the memory: @exits. */
static void zap_exit(const struct row *row, struct sample *sample)
{
	pid_t self = getpid(), pid = fork();
	u64 start;

	if (!pid) {
		die_with(self);
		fill_anon(row_len(row), row->kib);
		child_prepared();
		_exit(0);
	}
	await_child(pid);
	start = measure_begin();
	release_child(pid);
	reap_child(pid);
	sample->ns = measure_end(start);
	sample->pages = row_len(row) / PAGE;
}

static void reclaim_lazyfree(const struct row *row, struct sample *sample)
{
	const size_t len = row_len(row);
	char *mem = fill_anon(len, row->kib);
	u64 start;

	advise(mem, len, MADV_FREE);
	start = measure_begin();
	advise(mem, len, MADV_PAGEOUT);
	sample->ns = measure_end(start);
	note_gone(sample, len, count_entries(mem, len));
}

/* Pages of this process that are in swap. */
static u64 swapped(void)
{
	return read_field("/proc/self/status", "VmSwap:") * 1024 / PAGE;
}

/* Pages of these @len bytes that are not in swap, if @before others are. */
static u64 left_of(size_t len, u64 before)
{
	u64 now = swapped(), gone = now > before ? now - before : 0;

	return gone < len / PAGE ? len / PAGE - gone : 0;
}

static char *fill_swappable(const struct row *row)
{
	const size_t len = row_len(row);
	u64 room = read_field("/proc/meminfo", "SwapFree:") * 1024;

	if (!read_field("/proc/meminfo", "SwapTotal:"))
		skip("there is no swap");
	if (room < 2 * len)
		skip("only %llu MiB of swap are free", (unsigned long long)room / MIB);
	return fill_anon(len, row->kib);
}

static void swap_out(const struct row *row, struct sample *sample)
{
	const size_t len = row_len(row);
	u64 before = swapped(), start;
	char *mem = fill_swappable(row);

	start = measure_begin();
	advise(mem, len, MADV_PAGEOUT);
	sample->ns = measure_end(start);
	note_gone(sample, len, left_of(len, before));
}

static void zap_swapped(const struct row *row, struct sample *sample)
{
	const size_t len = row_len(row);
	u64 before = swapped();
	char *mem = fill_swappable(row);

	advise(mem, len, MADV_PAGEOUT);
	note_gone(sample, len, left_of(len, before));
	unmap(mem, sample, len);
}

/* One page for each table. */
static char *fill_sparse(size_t len)
{
	char *mem = map_anon(len);

	madvise(mem, len, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < len; i += TABLE)
		mem[i] = 1;
	return mem;
}

static void tables_dontneed(const struct row *row, struct sample *sample)
{
	char *mem = fill_sparse(row->len);
	u64 start = measure_begin();

	for (size_t i = 0; i < row->len; i += PIECE)
		advise(mem + i, PIECE, MADV_DONTNEED);
	sample->ns = measure_end(start);
	sample->pages = row->len / TABLE;
}

static void tables_lazyfree(const struct row *row, struct sample *sample)
{
	char *mem = fill_sparse(row->len);
	u64 start;

	advise(mem, row->len, MADV_FREE);
	start = measure_begin();
	advise(mem, row->len, MADV_PAGEOUT);
	sample->ns = measure_end(start);
	sample->pages = row->len / TABLE;
}

/* What a program pays whose tables are freed and made again: the second round is measured. */
static void fault_sparse(const struct row *row, struct sample *sample)
{
	char *mem = fill_sparse(row->len);
	u64 start;

	advise(mem, row->len, MADV_DONTNEED);
	start = measure_begin();
	for (size_t i = 0; i < row->len; i += TABLE)
		mem[i] = 1;
	advise(mem, row->len, MADV_DONTNEED);
	sample->ns = measure_end(start);
	sample->pages = row->len / TABLE;
}

const struct row rows[] = {
	{ .name = "zap:4K", .run = zap, .kib = 4 },
	{ .name = "zap:64K", .run = zap, .kib = 64 },
	{ .name = "zap:2048K", .run = zap, .kib = 2048 },
	{ .name = "zap:dontneed-4K", .run = zap_dontneed, .kib = 4 },
	{ .name = "zap:dontneed-64K", .run = zap_dontneed, .kib = 64 },
	{ .name = "zap:dontneed-2048K", .run = zap_dontneed, .kib = 2048 },
	{ .name = "zap:exit-4K", .run = zap_exit, .kib = 4, .exits = true },
	{ .name = "zap:exit-64K", .run = zap_exit, .kib = 64, .exits = true },
	{ .name = "lazyfree:4K", .run = reclaim_lazyfree, .kib = 4 },
	{ .name = "lazyfree:64K", .run = reclaim_lazyfree, .kib = 64 },
	{ .name = "lazyfree:1024K", .run = reclaim_lazyfree, .kib = 1024 },
	{ .name = "filemap:pageout", .run = page_out_file },
	{ .name = "swapout:4K", .run = swap_out, .kib = 4, .swaps = true },
	{ .name = "swapout:64K", .run = swap_out, .kib = 64, .swaps = true },
	{ .name = "zap:swapped-4K", .run = zap_swapped, .kib = 4, .swaps = true },
	{ .name = "ptetables:dontneed-64K", .run = tables_dontneed, .len = GIB },
	{ .name = "ptetables:lazyfree", .run = tables_lazyfree, .len = GIB },
	{ .name = "multifault:1", .run = fault_alone },
	{ .name = "multifault:many", .run = fault_together },
	{ .name = "multifault:sparse", .run = fault_sparse, .len = GIB },
	{ .name = "dontneed:many", .run = discard_together },
	{ .name = "migrate:4K", .run = move_there_and_back, .kib = 4 },
	{ .name = "migrate:64K", .run = move_there_and_back, .kib = 64 },
	{ .name = "migrate:1024K", .run = move_there_and_back, .kib = 1024 },
};

const unsigned int nr_rows = ARRAY_SIZE(rows);

size_t row_len(const struct row *row)
{
	size_t len = row->len ? row->len : options.mib * MIB;

	return row->swaps && len > SWAPPED ? SWAPPED : len;
}

/* Whether the name at the start of the list is this row's; a bench stands for all its rows. */
static bool is_named(const struct row *row, const char *list)
{
	size_t len = strcspn(list, ","), bench = strcspn(row->name, ":");

	return (len == bench || len == strlen(row->name)) && !strncmp(list, row->name, len);
}

/* The names of a list have commas between them. */
static const char *next_name(const char *list)
{
	const char *comma = strchr(list, ',');

	return comma ? comma + 1 : NULL;
}

bool is_wanted(const struct row *row)
{
	for (const char *at = options.rows; at; at = next_name(at))
		if (is_named(row, at))
			return true;
	return !options.rows;
}

const char *unknown_row(void)
{
	for (const char *at = options.rows; at; at = next_name(at)) {
		unsigned int nr = 0;

		while (nr < nr_rows && !is_named(&rows[nr], at))
			nr++;
		if (nr == nr_rows)
			return at;
	}
	return NULL;
}
