// SPDX-License-Identifier: GPL-2.0-only
/*
 * ptetables CASE: page tables (VmPTE) that remain after their last page is gone.
 *
 * One page of each 2 MiB is touched; of each 1 MiB in dontneed-unaligned; 16 of each
 * 2 MiB in file-pageout.
 *
 * dontneed-2M:        touch a page and MADV_DONTNEED its 2 MiB, for each 2 MiB of 8 GiB
 *                     (--full: 50 GiB); touching is measured, too.  A second pass,
 *                     which is not measured, plots how VmPTE grows
 * dontneed-64K:       8 GiB, MADV_DONTNEED 64 KiB at a time
 * dontneed-unaligned: 8 GiB, MADV_DONTNEED 2 MiB at a time, shifted by 1 MiB
 * lazyfree:           1 GiB of MADV_FREE, then MADV_PAGEOUT
 * punch-hole:         1 GiB of shared memory, fallocate() punches it all out
 * truncate:           1 GiB of shared memory, ftruncate() to nothing
 * dontunmap:          1 GiB, mremap(MREMAP_DONTUNMAP) by an odd number of MiB
 * uffd-move:          1 GiB, UFFDIO_MOVE to elsewhere
 * file-pageout:       1 GiB of a file on XFS with a folio of 64 KiB in each 2 MiB,
 *                     MADV_PAGEOUT
 * fork-exit:          8 GiB emptied by MADV_DONTNEED, then fork() and exit of a child;
 *                     vmpte_after is the child's
 *
 * vmpte_before is taken before the range is touched, vmpte_after two seconds after the call.
 * dontunmap and uffd-move move the pages: vmpte_after then includes the tables at the new place.
 *
 * worker: what the kernel's workers do meanwhile.  per_given_back: the call and the workers, for each
 * page that it gives back: of content, and of tables.
 *
 * After: the range has no page, and reads as it should.
 */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "ptetables.h"

static void check_gone(const struct range *r)
{
	unsigned long left = count_entries(r->mem, r->len);

	if (left)
		fail("%lu pages are still there", left);
}

static void check_bytes(const struct range *r, const char *mem, char byte)
{
	for (size_t i = 0; i < r->len; i += r->step)
		if (mem[i] != byte)
			fail("page %zu reads as %d, expected %d", i / PAGE, mem[i], byte);
}

static const struct row {
	const char *name;
	size_t gib;
	size_t step;
	range_fn *prepare;
	range_fn *call;
} rows[] = {
	{ "dontneed-2M", 8, TABLE, NULL, touch_and_zap },
	{ "dontneed-64K", 8, TABLE, touch, zap_pieces },
	{ "dontneed-unaligned", 8, MIB, touch, zap_shifted },
	{ "lazyfree", 1, TABLE, make_lazyfree, page_out },
	{ "punch-hole", 1, TABLE, make_shared, punch_hole },
	{ "truncate", 1, TABLE, make_shared, truncate_all },
	{ "dontunmap", 1, TABLE, make_target, move_mapping },
	{ "uffd-move", 1, TABLE, watch_target, move_by_userfault },
	{ "file-pageout", 1, TABLE, make_mapped_file, page_out },
	{ "fork-exit", 8, TABLE, make_emptied, fork_and_exit },
};

static const struct row *find_row(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	fail("unknown case %s: expected dontneed-2M to fork-exit", name);
}

static void check(const struct row *row, struct range *r)
{
	if (row->call == truncate_all)
		grow_again(r);
	check_gone(r);
	check_bytes(r, r->mem, r->byte);
	if (r->there)
		check_bytes(r, r->there, 1);
}

/* Pages that the call gives back: of content, if it had any that does not only move, and of tables. */
static u64 given_back(const struct row *row, const struct range *r, u64 full)
{
	u64 content = r->there || row->call == fork_and_exit ? 0 : r->pages;

	return content + (full > r->after ? (full - r->after) * 1024 / PAGE : 0);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "ptetables CASE [--full]");
	const struct row *row = find_row(req.name);
	struct range r = { .len = row->gib * GIB, .step = row->step, .fd = -1 };
	u64 before = vmpte(), full, instructions, worker;

	settle();
	if (req.full && row->call == touch_and_zap)
		r.len = 50 * GIB;
	r.pages = r.len / r.step;
	r.mem = map_anon(r.len);
	if (row->prepare)
		row->prepare(&r);
	usleep(TABLES_AGE);	/* what it has given back is freed after a grace period */
	full = vmpte();
	worker = kworkers_time();
	instructions = measure_begin();
	row->call(&r);
	instructions = measure_end(instructions);
	usleep(TABLES_GO);
	worker = kworkers_time() - worker;
	if (!r.after)
		r.after = vmpte();

	check(row, &r);
	report(instructions, r.pages);
	metric("worker", worker, "instructions");
	if (given_back(row, &r, full))
		quotient_metric("per_given_back", instructions + worker,
				given_back(row, &r, full), "instructions/page");
	metric("vmpte_before", before, "kB");
	metric("vmpte_after", r.after, "kB");
	if (row->call == touch_and_zap)
		plot_touch_and_zap(&r);
	return 0;
}
