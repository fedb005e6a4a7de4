// SPDX-License-Identifier: GPL-2.0-only
/*
 * thp_refault PIECES[-MODE] [--mib N]: with transparent huge pages, memory is purged and
 * used again.  Does freeing the empty page tables change what the new faults allocate?
 *
 * Fill 128 MiB and purge them.  Touch one page of each 2 MiB (first_round), purge, and so on: the
 * fourth time is measured.  Then fill all of it again (refill) and purge it again (repurge).
 *
 * 4K, 64K, 2M: MADV_DONTNEED of that many bytes at a time
 * unaligned:   2 MiB at a time, shifted by 1 MiB
 * shmem:       filled with small pages; huge pages are enabled afterwards; a hole of
 *              64 KiB is punched at a time
 * whole:       filled with small pages in the same way; one MADV_DONTNEED of all
 * mixed:       the same, 2 MiB and 64 KiB at a time: the first piece covers a table
 *
 * MODE selects who gets huge pages: "always", "madvise" (the range is advised) or "never".
 * Two modes select a tables_policy instead, with huge pages always: "huge"; and "pressure",
 * which has memory run short after the first purge.
 *
 * rss and huge: the range's growth in kB by the first touches, in all and mapped by PMDs.
 * vmpte_before and vmpte_after: page tables before the range is filled, and after the first
 * purge.  khugepaged sleeps, because it would collapse the pages that stock code leaves small.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/tables.h"
#include "lib/workload.h"

#define PIECE	(64UL << 10)
#define ROUNDS	4	/* of purging and touching: the last one is measured */
#define HUGE	THP "hugepages-2048kB/"
#define KHUGEPAGED	THP "khugepaged/"

struct range {
	char *mem;
	size_t len;
	int fd;
};

typedef void purge_fn(const struct range *r);

static void discard(const struct range *r, size_t piece)
{
	for (size_t i = 0; i < r->len; i += piece)
		advise(r->mem + i, i + piece < r->len ? piece : r->len - i, MADV_DONTNEED);
}

static void purge_4k(const struct range *r)
{
	discard(r, PAGE);
}

static void purge_64k(const struct range *r)
{
	discard(r, PIECE);
}

static void purge_2m(const struct range *r)
{
	discard(r, TABLE);
}

static void purge_unaligned(const struct range *r)
{
	discard_unaligned(r->mem, r->len);
}

static void purge_shmem(const struct range *r)
{
	for (size_t i = 0; i < r->len; i += PIECE)
		punch(r->fd, i, PIECE);
}

static void purge_whole(const struct range *r)
{
	discard(r, r->len);
}

static void purge_mixed(const struct range *r)
{
	discard(r, TABLE + PIECE);
}

static const struct row {
	const char *name;
	purge_fn *purge;
	bool small;		/* filled while there are no huge pages */
} rows[] = {
	{ "4K", purge_4k, false },
	{ "64K", purge_64k, false },
	{ "2M", purge_2m, false },
	{ "unaligned", purge_unaligned, false },
	{ "shmem", purge_shmem, false },
	{ "whole", purge_whole, true },
	{ "mixed", purge_mixed, true },
};

static const struct mode {
	const char *name;
	const char *thp;
	const char *policy;
} modes[] = {
	{ "always", "always", "adaptive" },
	{ "madvise", "madvise", "adaptive" },
	{ "never", "never", "adaptive" },
	{ "huge", "always", "huge" },
	{ "pressure", "always", "pressure" },
};

static const struct row *find_row(const char *name)
{
	size_t len = strcspn(name, "-");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strlen(rows[i].name) == len && !strncmp(rows[i].name, name, len))
			return &rows[i];
	fail("unknown case %s: expected 4K, 64K, 2M, unaligned, shmem, whole or mixed", name);
}

static const struct mode *find_mode(const char *name)
{
	const char *dash = strchr(name, '-');

	for (size_t i = 0; dash && i < ARRAY_SIZE(modes); i++)
		if (!strcmp(modes[i].name, dash + 1))
			return &modes[i];
	if (dash)
		fail("unknown mode %s: expected always, madvise, never, huge or pressure",
		     dash + 1);
	return &modes[0];
}

static void set_thp(const char *thp)
{
	if (!path_exists(HUGE "enabled"))
		skip("this kernel has no folios of 2 MiB");
	write_text(HUGE "enabled", thp);
}

/*
 * khugepaged scans the first process that it learns of at once, and then sleeps for an
 * hour: give it this process while there is nothing to collapse.
 */
static void put_khugepaged_to_sleep(void)
{
	char *mem = map_anon(TABLE);
	u64 scans;

	write_text(KHUGEPAGED "scan_sleep_millisecs", "3600000");
	scans = read_number(KHUGEPAGED "full_scans");
	advise(mem, TABLE, MADV_HUGEPAGE);
	*mem = 1;
	for (int i = 0; i < 100 && read_number(KHUGEPAGED "full_scans") == scans; i++)
		usleep(10000);
}

static void fill(const struct range *r)
{
	for (size_t i = 0; i < r->len; i += PAGE)
		r->mem[i] = 1;
}

static void touch(const struct range *r)
{
	for (size_t i = 0; i < r->len; i += TABLE)
		r->mem[i] = 2;
}

/* Map and fill the range, with huge pages where the mode allows them. */
static struct range make_range(const struct row *row, const struct mode *mode, size_t len)
{
	struct range r = { .mem = map_anon(len), .len = len, .fd = -1 };

	if (row->purge == purge_shmem)
		r.fd = map_shared(r.mem, len);
	else if (!strcmp(mode->thp, "madvise"))
		advise(r.mem, len, MADV_HUGEPAGE);
	/* Not by the setting: a change of that wakes khugepaged. */
	prctl(PR_SET_THP_DISABLE, row->small, 0, 0, 0);
	fill(&r);
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	if (row->purge == purge_shmem)
		write_text(HUGE "shmem_enabled", "always");
	return r;
}

static u64 rollup(const char *key)
{
	return read_field("/proc/self/smaps_rollup", key);
}

static u64 huge(void)
{
	return rollup("AnonHugePages:") + rollup("ShmemPmdMapped:");
}

static void run_short_of_memory(void)
{
	usleep(TABLES_AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
}

static void check(const struct range *r)
{
	for (size_t i = 0; i < r->len; i += TABLE)
		if (r->mem[i] != 2 || r->mem[i + PAGE])
			fail("page %zu does not read as written", i / PAGE);
}

static void refill(const struct row *row, const struct range *r)
{
	u64 start = clock_now(), filled;

	fill(r);
	filled = clock_now();
	row->purge(r);
	metric("repurge", clock_now() - filled, "instructions");
	metric("refill", filled - start, "instructions");
}

static u64 touch_once(const struct range *r)
{
	u64 start = measure_begin();

	touch(r);
	return measure_end(start);
}

static void measure(const struct row *row, const struct mode *mode, size_t len)
{
	u64 rss, was_huge, before = vmpte(), after, first, instructions = 0;
	struct range r = make_range(row, mode, len);

	row->purge(&r);
	if (!strcmp(mode->name, "pressure"))
		run_short_of_memory();
	after = vmpte();
	rss = rollup("Rss:");
	was_huge = huge();
	first = touch_once(&r);
	rss = rollup("Rss:") - rss;
	was_huge = huge() - was_huge;
	for (int round = 1; round < ROUNDS; round++) {
		row->purge(&r);
		instructions = touch_once(&r);
	}
	check(&r);
	report(instructions, len / TABLE);
	metric("first_round", first, "instructions");
	metric("rss", rss, "kB");
	metric("huge", was_huge, "kB");
	metric("vmpte_before", before, "kB");
	metric("vmpte_after", after, "kB");
	refill(row, &r);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "thp_refault PIECES[-MODE] [--mib N]");
	const struct row *row = find_row(req.name);
	const struct mode *mode = find_mode(req.name);

	settle();
	set_thp("always");
	write_text(HUGE "shmem_enabled", "never");
	put_khugepaged_to_sleep();
	set_thp(mode->thp);
	set_tables_policy(mode->policy);
	measure(row, mode, wanted_size(&req, 128 * MIB, GIB));
	set_tables_policy("adaptive");
	set_thp("never");
	write_text(HUGE "shmem_enabled", "never");
	return 0;
}
