// SPDX-License-Identifier: GPL-2.0-only
/*
 * thp_refault PIECES[-MODE] [--mib N]: memory that was purged and is used again, with
 * transparent huge pages: what its page tables' coming and going makes of them.
 *
 * 128 MiB are filled and purged; one page of each 2 MiB is touched, which is what is
 * measured; then all is filled again (refill) and purged again (repurge).
 *
 * 4K, 64K, 2M: so much in one MADV_DONTNEED
 * unaligned:   2 MiB at a time, shifted by 1 MiB
 * shmem:       filled with small pages, huge ones allowed from then on; a hole of 64 KiB
 *              at a time
 *
 * MODE: huge pages for all ("always"), those who ask ("madvise", which is done), or nobody
 * ("never"); or an own policy for empty page tables, with huge pages for all: "huge", or
 * "pressure", with a shortage of memory after the first purge.
 *
 * rss and huge: kB of the range after the touches, all and mapped by PMDs.  vmpte_after is
 * what of tables is left of the first purge, over vmpte_before.  khugepaged sleeps: it
 * would collapse whatever stock has left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

#define TABLE	(2 * MIB)
#define PIECE	(64UL << 10)
#define POLICY	"/sys/kernel/mm/unmap/tables_policy"
#define HUGE	THP "hugepages-2048kB/"
#define KHUGEPAGED	THP "khugepaged/"
#define AGE	(100 * 1000)	/* us: tables that became empty just now are kept */

struct range {
	char *mem;
	size_t len;
	int fd;
};

typedef void purge_fn(const struct range *r);

static void discard(const struct range *r, size_t piece)
{
	for (size_t i = 0; i < r->len; i += piece)
		advise(r->mem + i, piece, MADV_DONTNEED);
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
	advise(r->mem, MIB, MADV_DONTNEED);
	for (size_t i = MIB; i + TABLE < r->len; i += TABLE)
		advise(r->mem + i, TABLE, MADV_DONTNEED);
	advise(r->mem + r->len - MIB, MIB, MADV_DONTNEED);
}

static void purge_shmem(const struct range *r)
{
	for (size_t i = 0; i < r->len; i += PIECE)
		if (fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, i, PIECE))
			fail("fallocate failed: %s", strerror(errno));
}

static const struct row {
	const char *name;
	purge_fn *purge;
} rows[] = {
	{ "4K", purge_4k },
	{ "64K", purge_64k },
	{ "2M", purge_2m },
	{ "unaligned", purge_unaligned },
	{ "shmem", purge_shmem },
};

static const struct mode {
	const char *name;
	const char *thp;
	const char *policy;
} modes[] = {
	{ "always", "always", "eager" },
	{ "madvise", "madvise", "eager" },
	{ "never", "never", "eager" },
	{ "huge", "always", "huge" },
	{ "pressure", "always", "pressure" },
};

static const struct row *find_row(const char *name)
{
	size_t len = strcspn(name, "-");

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strlen(rows[i].name) == len && !strncmp(rows[i].name, name, len))
			return &rows[i];
	fail("unknown case %s: expected 4K, 64K, 2M, unaligned or shmem", name);
}

static const struct mode *find_mode(const char *name)
{
	const char *dash = strchr(name, '-');

	for (size_t i = 0; dash && i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].name, dash + 1))
			return &modes[i];
	if (dash)
		fail("unknown mode %s: expected always, madvise, never, huge or pressure",
		     dash + 1);
	return &modes[0];
}

/* Kernels that know of no policy have one of their own. */
static void set_policy(const char *policy)
{
	if (path_exists(POLICY))
		write_text(POLICY, policy);
}

static void set_thp(const char *thp)
{
	if (!path_exists(HUGE "enabled"))
		skip("this kernel has no folios of 2 MiB");
	write_text(HUGE "enabled", thp);
}

/* It looks at once at the first process that it knows of, and then for an hour at none. */
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

static void map_shmem(struct range *r)
{
	r->fd = memfd_create("thp_refault", 0);
	if (r->fd < 0 || ftruncate(r->fd, r->len))
		fail("cannot make shared memory: %s", strerror(errno));
	r->mem = mmap(r->mem, r->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd, 0);
	if (r->mem == MAP_FAILED)
		fail("cannot map shared memory: %s", strerror(errno));
}

/* Filled, and with huge pages as far as they are allowed to be. */
static struct range make_range(const struct row *row, const struct mode *mode, size_t len)
{
	struct range r = { .mem = map_anon(len), .len = len, .fd = -1 };

	if (row->purge == purge_shmem) {
		map_shmem(&r);
		fill(&r);
		write_text(HUGE "shmem_enabled", "always");
	} else {
		if (!strcmp(mode->thp, "madvise"))
			advise(r.mem, len, MADV_HUGEPAGE);
		fill(&r);
	}
	return r;
}

static u64 vmpte(void)
{
	return read_field("/proc/self/status", "VmPTE:");
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
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
}

static void check(const struct range *r)
{
	for (size_t i = 0; i < r->len; i += TABLE)
		if (r->mem[i] != 2 || r->mem[i + PAGE])
			fail("page %zu is not what was written to it", i / PAGE);
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

static void measure(const struct row *row, const struct mode *mode, size_t len)
{
	u64 rss, was_huge, before = vmpte(), after, instructions;
	struct range r = make_range(row, mode, len);

	row->purge(&r);
	if (!strcmp(mode->name, "pressure"))
		run_short_of_memory();
	after = vmpte();
	rss = rollup("Rss:");
	was_huge = huge();
	instructions = measure_begin();
	touch(&r);
	instructions = measure_end(instructions);
	rss = rollup("Rss:") - rss;
	was_huge = huge() - was_huge;
	check(&r);
	report(instructions, len / TABLE);
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
	set_policy(mode->policy);
	measure(row, mode, wanted_size(&req, 128 * MIB, GIB));
	set_policy("eager");
	set_thp("never");
	write_text(HUGE "shmem_enabled", "never");
	return 0;
}
