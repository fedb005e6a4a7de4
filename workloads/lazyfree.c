// SPDX-License-Identifier: GPL-2.0-only
/*
 * lazyfree CASE: MADV_PAGEOUT of 128 MiB (--mib N) of lazyfree memory, in folios of
 * CASE (4K, 64K, 1024K or any other size the kernel offers below 2 MiB).
 *
 * Touch the range, mark it with MADV_FREE, measure MADV_PAGEOUT alone; report the
 * second of two passes.
 *
 * 4K-shuffled: single pages, touched and marked page by page in an order that looks random,
 * which is then that of the LRU; memory.reclaim takes nine tenths of them in that order.
 *
 * 1024K-alternate: userfaultfd protects every other page against stores, so that each run has one
 * entry; memory.reclaim takes nine tenths, because MADV_PAGEOUT splits such folios.
 *
 * Before: every folio has the size of the case.  After: no entry is left (4K-shuffled: those
 * that were not asked for), pglazyfreed has counted every page that is gone, none was
 * swapped out, and what is gone reads as zero.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/workload.h"

struct result {
	u64 instructions;
	u64 split_deferred;
	u64 lazyfreed;
	u64 swapped;
};

/* Replace every counter in @res by its growth since the value that @res holds. */
static void count(struct result *res, unsigned long kib)
{
	res->split_deferred = thp_stat(kib, "split_deferred") - res->split_deferred;
	res->lazyfreed = read_field("/proc/vmstat", "pglazyfreed ") - res->lazyfreed;
	res->swapped = read_field("/proc/vmstat", "pswpout ") - res->swapped;
}

/* Nothing gives a page that was not reclaimed another content. */
static unsigned long count_kept(const char *mem, size_t len)
{
	unsigned long kept = 0;

	for (size_t i = 0; i < len; i += PAGE)
		kept += mem[i] != 0;
	return kept;
}

static void check(const struct result *res, const char *mem, size_t len, size_t asked)
{
	unsigned long left = count_entries(mem, len), gone = len / PAGE - left;

	if (gone < asked / PAGE)
		fail("%lu of %lu pages are still there", left, len / PAGE);
	if (res->lazyfreed != gone || res->swapped)
		fail("%llu pages were lazily freed and %llu swapped out, expected %lu and 0",
		     (unsigned long long)res->lazyfreed, (unsigned long long)res->swapped, gone);
	if (count_kept(mem, len) != left)
		fail("%lu pages have content, but %lu are left", count_kept(mem, len), left);
	if (!left)
		check_zero(mem, len);
}

/* The reclaim that is measured: its memory is @mem alone. */
static void reclaim_by_pageout(char *mem, size_t len)
{
	advise(mem, len, MADV_PAGEOUT);
}

static void reclaim_by_cgroup(char *mem, size_t asked)
{
	char amount[32];

	(void)mem;
	snprintf(amount, sizeof(amount), "%zu", asked);
	write_text(RECLAIM_PATH, amount);
}

typedef void reclaim_fn(char *mem, size_t asked);

static struct result measure(reclaim_fn *fn, char *mem, size_t len, size_t asked,
			     unsigned long kib)
{
	struct result res = { 0 };
	u64 start;

	count(&res, kib);
	start = measure_begin();
	fn(mem, asked);
	res.instructions = measure_end(start);
	count(&res, kib);

	check(&res, mem, len, asked);
	munmap(mem, len);
	return res;
}

static struct result reclaim(size_t len, unsigned long kib)
{
	char *mem = map_anon(len);

	memset(mem, 1, len);
	check_folios(mem, len, kib);
	advise(mem, len, MADV_FREE);
	return measure(reclaim_by_pageout, mem, len, len, kib);
}

static void protect_every_other(char *mem, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register area = {
		.range = { (uintptr_t)mem, len }, .mode = UFFDIO_REGISTER_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		skip("userfaultfd cannot protect pages: %s", strerror(errno));
	if (ioctl(fd, UFFDIO_REGISTER, &area))
		fail("UFFDIO_REGISTER failed: %s", strerror(errno));
	for (size_t i = 0; i < len; i += 2 * PAGE) {
		struct uffdio_writeprotect page = {
			.range = { (uintptr_t)mem + i, PAGE }, .mode = UFFDIO_WRITEPROTECT_MODE_WP,
		};

		if (ioctl(fd, UFFDIO_WRITEPROTECT, &page))
			fail("UFFDIO_WRITEPROTECT failed: %s", strerror(errno));
	}
}

static struct result reclaim_alternate(size_t len, unsigned long kib)
{
	char *mem = map_anon(len);

	memset(mem, 1, len);
	check_folios(mem, len, kib);
	advise(mem, len, MADV_FREE);
	protect_every_other(mem, len);
	check_folios(mem, len, kib);
	return measure(reclaim_by_cgroup, mem, len, len / PAGE / 10 * 9 * PAGE, kib);
}

static struct result reclaim_shuffled(size_t len, unsigned long kib)
{
	const size_t pages = len / PAGE;
	unsigned int *order = make_order(pages, true);
	char *mem = map_anon(len);

	for (size_t i = 0; i < pages; i++)
		mem[order[i] * PAGE] = 1;
	check_folios(mem, len, kib);
	/* Only what is on the LRU can be marked: this puts the last pages there. */
	write_text("/proc/sys/vm/drop_caches", "1");
	for (size_t i = 0; i < pages; i++)
		advise(mem + order[i] * PAGE, PAGE, MADV_FREE);
	free(order);
	return measure(reclaim_by_cgroup, mem, len, pages / 10 * 9 * PAGE, kib);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv,
					   "lazyfree 4K|64K|1024K|4K-shuffled|1024K-alternate "
					   "[--mib N]");
	const size_t len = wanted_size(&req, 128 * MIB, 128 * MIB);
	bool shuffled = !strcmp(req.name, "4K-shuffled");
	bool alternate = !strcmp(req.name, "1024K-alternate");
	unsigned long kib = shuffled ? 4 : alternate ? 1024 : parse_folio(req.name);
	struct result (*fn)(size_t, unsigned long) = shuffled ? reclaim_shuffled :
						     alternate ? reclaim_alternate : reclaim;
	struct result res;

	if (kib >= 2048)
		skip("a PMD maps a folio of %lu KiB, not a run of PTEs", kib);
	need_memory(len);
	settle();
	if (shuffled || alternate)
		enter_cgroup();
	thp_only(kib);
	fn(len, kib);	/* the first pass splits free blocks, later ones do not */
	res = fn(len, kib);
	if (shuffled || alternate)
		leave_cgroup();

	report(res.instructions, res.lazyfreed);
	metric("split_deferred", res.split_deferred, "folios");
	return 0;
}
