// SPDX-License-Identifier: GPL-2.0-only
/* Anonymous memory in folios of one size: see workload.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

static void thp_set(const char *dir, const char *mode)
{
	char path[300];

	snprintf(path, sizeof(path), THP "%s/enabled", dir);
	if (path_exists(path))	/* some sizes exist for shmem only */
		write_text(path, mode);
}

void thp_only(unsigned long kib)
{
	DIR *dir = opendir(THP);
	char wanted[64];
	struct dirent *entry;
	bool found = kib * 1024 == PAGE;

	if (!dir)
		skip("this kernel has no transparent huge pages");
	snprintf(wanted, sizeof(wanted), "hugepages-%lukB", kib);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "hugepages-", 10))
			continue;
		thp_set(entry->d_name, "never");
		found |= !strcmp(entry->d_name, wanted);
	}
	closedir(dir);
	if (!found)
		skip("this kernel has no anonymous folios of %lu KiB", kib);
	if (kib * 1024 != PAGE)
		thp_set(wanted, "always");
}

u64 thp_stat(unsigned long kib, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), THP "hugepages-%lukB/stats/%s", kib, name);
	return path_exists(path) ? read_number(path) : 0;
}

unsigned long parse_folio(const char *text)
{
	char *end;
	unsigned long kib = strtoul(text, &end, 10);

	if (strcmp(end, "K") || kib * 1024 < PAGE || kib & (kib - 1))
		fail("unknown case %s: expected a folio size such as 4K, 64K or 1024K", text);
	return kib;
}

char *map_anon(size_t len)
{
	const size_t align = 2 * MIB;
	char *raw = mmap(NULL, len + align, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *start;

	if (raw == MAP_FAILED)
		fail("cannot map %zu MiB: %s", len >> 20, strerror(errno));
	start = (char *)(((uintptr_t)raw + align - 1) & ~(align - 1));
	if (start > raw)
		munmap(raw, start - raw);
	munmap(start + len, align - (start - raw));
	return start;
}

void __advise(void *mem, size_t len, int advice, const char *name)
{
	if (madvise(mem, len, advice))
		fail("madvise(%s) failed: %s", name, strerror(errno));
}

void check_zero(const char *mem, size_t len)
{
	for (size_t i = 0; i < len; i += PAGE / 8)
		if (mem[i])
			fail("page %zu does not read as zero", i / PAGE);
}

void need_memory(size_t len)
{
	u64 available = read_field("/proc/meminfo", "MemAvailable:") * 1024;

	if (available < len + 64 * MIB)
		skip("the case needs %zu MiB of memory, %llu MiB are available", len >> 20,
		     (unsigned long long)available >> 20);
}

/* mprotect() of one page makes PTEs map the whole folio; undoing it does not revert that. */
void split_mapping(char *mem, size_t len)
{
	for (size_t i = 0; i < len; i += 2 * MIB)
		if (mprotect(mem + i, PAGE, PROT_READ) ||
		    mprotect(mem + i, PAGE, PROT_READ | PROT_WRITE))
			fail("mprotect failed: %s", strerror(errno));
	check_ptes();
}
