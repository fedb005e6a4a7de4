// SPDX-License-Identifier: GPL-2.0-only
/* Tables of the test kept: see kept.h. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "kept.h"

long long tables_of(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_field(path, "VmPTE:") * 1024 / (long long)PAGE;
}

bool fall_to(pid_t pid, long long tables)
{
	AWAIT(tables_of(pid) <= tables);
	return true;
}

char *map_tables(size_t len, int flags, int fd)
{
	return map_aligned(len, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd);
}

void fill_tables(char *mem, size_t len)
{
	for (size_t at = 0; at < len; at += PMD)
		WRITE_ONCE(mem[at], 1);
}

void empty_tables(char *mem, size_t len)
{
	fill_tables(mem, len);
	madvise(mem, len, MADV_DONTNEED);
}
