// SPDX-License-Identifier: GPL-2.0-only
/* Files that workloads map: see datafile.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "datafile.h"
#include "workload.h"

#define CHUNK	MIB
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC	0x58465342
#endif

static u64 stamp(u64 page)
{
	return (page + 1) * 0x9e3779b97f4a7c15ULL;
}

void stamp_pages(char *mem, size_t len, u64 first)
{
	for (size_t i = 0; i < len / PAGE; i++) {
		u64 *page = (u64 *)(mem + i * PAGE);

		page[0] = stamp(first + i);
		page[PAGE / sizeof(u64) - 1] = stamp(first + i);
	}
}

void check_stamps(const char *mem, size_t len, u64 first)
{
	for (size_t i = 0; i < len / PAGE; i++) {
		const u64 *page = (const u64 *)(mem + i * PAGE), wanted = stamp(first + i);

		if (page[0] != wanted || page[PAGE / sizeof(u64) - 1] != wanted)
			fail("page %llu does not read back as written",
			     (unsigned long long)first + i);
	}
}

void check_contents(const char *mem, size_t len)
{
	check_stamps(mem, len, 0);
}

void need_space(size_t len)
{
	struct statfs fs;

	if (statfs("/mnt", &fs) || fs.f_type != XFS_SUPER_MAGIC)
		skip("there is no XFS at /mnt");
	if (fs.f_bavail * fs.f_bsize < len + 64 * MIB)
		skip("/mnt has no %zu MiB free", len >> 20);
	if (read_field("/proc/meminfo", "MemTotal:") * 1024 < len + 512 * MIB)
		skip("the machine has too little memory to map %zu MiB at once", len >> 20);
}

void fill_file(int fd, size_t len)
{
	char *chunk = aligned_alloc(PAGE, CHUNK);

	if (!chunk)
		fail("out of memory");
	memset(chunk, 0, CHUNK);
	for (size_t done = 0; done < len; done += CHUNK) {
		stamp_pages(chunk, CHUNK, done / PAGE);
		if (pwrite(fd, chunk, CHUNK, done) != CHUNK)
			fail("cannot write the file: %s", strerror(errno));
	}
	free(chunk);
	if (fsync(fd))
		fail("cannot sync the file: %s", strerror(errno));
}

int make_file(const char *path, size_t len)
{
	int fd;

	unlink(path);
	need_space(len);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		skip("cannot create %s: %s", path, strerror(errno));
	fill_file(fd, len);
	write_text("/proc/sys/vm/drop_caches", "3");
	return fd;
}

void read_file(int fd, size_t len)
{
	static char buffer[128 << 10];

	for (size_t done = 0; done < len; done += sizeof(buffer))
		if (pread(fd, buffer, sizeof(buffer), done) != sizeof(buffer))
			fail("cannot read the file: %s", strerror(errno));
}

char *map_file(int fd, size_t len, int flags)
{
	char *hint = map_anon(len + 2 * MIB);
	char *mem;

	munmap(hint, len + 2 * MIB);
	mem = mmap(hint + MIB, len, PROT_READ, flags | MAP_FIXED_NOREPLACE, fd, 0);
	if (mem == MAP_FAILED)
		fail("cannot map the file: %s", strerror(errno));
	return mem;
}

unsigned long count_cached(char *mem, size_t len)
{
	unsigned char *vec = malloc(len / PAGE);
	unsigned long cached = 0;

	if (!vec || mincore(mem, len, vec))
		fail("mincore failed: %s", strerror(errno));
	for (size_t i = 0; i < len / PAGE; i++)
		cached += vec[i] & 1;
	free(vec);
	return cached;
}
