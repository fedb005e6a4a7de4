// SPDX-License-Identifier: GPL-2.0-only
/* Page tables of a workload, and what empties them: see tables.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tables.h"

#define POLICY	"/sys/kernel/mm/unmap/tables_policy"

u64 vmpte(void)
{
	return read_field("/proc/self/status", "VmPTE:");
}

void set_tables_policy(const char *policy)
{
	if (path_exists(POLICY))
		write_text(POLICY, policy);
}

void discard_unaligned(char *mem, size_t len)
{
	advise(mem, MIB, MADV_DONTNEED);
	for (size_t i = MIB; i + TABLE < len; i += TABLE)
		advise(mem + i, TABLE, MADV_DONTNEED);
	advise(mem + len - MIB, MIB, MADV_DONTNEED);
}

int map_shared(char *mem, size_t len)
{
	int fd = memfd_create("workload", 0);

	if (fd < 0 || ftruncate(fd, len))
		fail("cannot make shared memory: %s", strerror(errno));
	if (mmap(mem, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != mem)
		fail("cannot map shared memory: %s", strerror(errno));
	return fd;
}

void punch(int fd, size_t at, size_t len)
{
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len))
		fail("fallocate failed: %s", strerror(errno));
}
