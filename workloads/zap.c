// SPDX-License-Identifier: GPL-2.0-only
/*
 * zap CASE: free 256 MiB (--full: 1 GiB; --mib N) of anonymous memory, in folios of
 * 4K to 2048K, all of them mapped by PTEs.
 *
 * SIZE:          munmap()
 * dontneed-SIZE: MADV_DONTNEED
 * exit-SIZE:     exit of a child that owns the memory.  The parent measures from waking
 *                the child until it has reaped it; waking, scheduling and waiting
 *                make up about 10,000 instructions of that
 * swapped-SIZE:  munmap() of memory of which every page is in swap (zram)
 * sparse-4K:     munmap() of a range in which one page in 64 was touched
 * written-4K:    MADV_DONTNEED of shared memory of which every page was written
 *
 * Before: every folio has the size of the case, and PTEs map it.  After: the range is
 * unmapped (munmap()), reads as zero (MADV_DONTNEED; what is shared: as written), or AnonPages
 * fell by its size (exit).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/workload.h"

#define SPARSE	64UL

static char *populate(size_t len, unsigned long kib)
{
	char *mem;

	need_memory(len);
	mem = map_anon(len);
	thp_only(kib);
	for (size_t i = 0; i < len; i += PAGE)
		mem[i] = 1;
	split_mapping(mem, len);
	check_folios(mem, len, kib);
	return mem;
}

static u64 unmap_range(char *mem, size_t len)
{
	u64 instructions = measure_begin();
	unsigned char vec;

	if (munmap(mem, len))
		fail("munmap failed: %s", strerror(errno));
	instructions = measure_end(instructions);
	if (!mincore(mem, PAGE, &vec) || errno != ENOMEM)
		fail("the range is still mapped");
	return instructions;
}

static u64 zap_munmap(size_t len, unsigned long kib)
{
	return unmap_range(populate(len, kib), len);
}

static u64 zap_swapped(size_t len, unsigned long kib)
{
	char *mem = populate(len, kib);

	advise(mem, len, MADV_PAGEOUT);
	if (take_census(mem, len).pages || count_entries(mem, len) != len / PAGE)
		fail("some pages are not in swap");
	return unmap_range(mem, len);
}

static u64 zap_sparse(size_t len, unsigned long kib)
{
	char *mem = map_anon(len);

	thp_only(kib);
	for (size_t i = 0; i < len; i += SPARSE * PAGE)
		mem[i] = 1;
	if (take_census(mem, len).pages != len / PAGE / SPARSE)
		fail("the range does not have one page in %lu", SPARSE);
	return unmap_range(mem, len);
}

static u64 discard(char *mem, size_t len)
{
	u64 instructions = measure_begin();

	advise(mem, len, MADV_DONTNEED);
	instructions = measure_end(instructions);
	if (count_entries(mem, len))
		fail("%lu pages are still there", count_entries(mem, len));
	return instructions;
}

static u64 zap_dontneed(size_t len, unsigned long kib)
{
	char *mem = populate(len, kib);
	u64 instructions = discard(mem, len);

	check_zero(mem, len);
	return instructions;
}

/* The pages stay in the page cache, as they were written. */
static u64 zap_written(size_t len, unsigned long kib)
{
	u64 instructions;
	char *mem;

	need_memory(len);
	thp_only(kib);
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		fail("mmap failed: %s", strerror(errno));
	for (size_t i = 0; i < len; i += PAGE)
		mem[i] = 1;
	if (count_entries(mem, len) != len / PAGE)
		fail("some pages are not mapped");
	instructions = discard(mem, len);
	for (size_t i = 0; i < len; i += PAGE)
		if (mem[i] != 1)
			fail("page %zu has lost what was written", i / PAGE);
	return instructions;
}

static u64 zap_exit(size_t len, unsigned long kib)
{
	pid_t pid = fork();
	u64 instructions, taken;

	if (!pid) {
		populate(len, kib);
		child_prepared();
		_exit(0);
	}
	await_child(pid);
	taken = read_field("/proc/meminfo", "AnonPages:");

	instructions = measure_begin();
	release_child(pid);
	reap_child(pid);
	instructions = measure_end(instructions);

	taken -= read_field("/proc/meminfo", "AnonPages:");
	if (taken < len / 1024 * 9 / 10)
		fail("the child's exit freed only %llu kB", (unsigned long long)taken);
	return instructions;
}

typedef u64 zap_fn(size_t len, unsigned long kib);

static zap_fn *find_zap(const char *name, const char *size)
{
	if (!size)
		return zap_munmap;
	if (!strncmp(name, "exit-", 5))
		return zap_exit;
	if (!strncmp(name, "dontneed-", 9))
		return zap_dontneed;
	if (!strncmp(name, "swapped-", 8))
		return zap_swapped;
	if (!strcmp(name, "sparse-4K"))
		return zap_sparse;
	if (!strcmp(name, "written-4K"))
		return zap_written;
	fail("unknown case %s: expected SIZE, exit-SIZE, dontneed-SIZE, swapped-SIZE, sparse-4K or "
	     "written-4K", name);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv,
					   "zap [exit-|dontneed-|swapped-|sparse-|written-]4K…2048K [--full] [--mib N]");
	const size_t len = wanted_size(&req, 256 * MIB, GIB);
	const char *size = strchr(req.name, '-');
	zap_fn *zap = find_zap(req.name, size);
	unsigned long kib = parse_folio(size ? size + 1 : req.name);
	u64 instructions;

	settle();
	instructions = zap(len, kib);
	report(instructions, len / PAGE / (zap == zap_sparse ? SPARSE : 1));
	return 0;
}
