// SPDX-License-Identifier: GPL-2.0-only
/* Memory and its content, files on XFS, guard regions, extra references: see unmap_util.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "unmap_util.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#define MADV_GUARD_REMOVE	103
#endif

#define XFS_MAGIC	0x58465342
#define COLLAPSES	200	/* in two seconds, if none succeeds */

/* Memory. */

char *map_aligned(size_t len, int prot, int flags, int fd)
{
	char *raw = mmap(NULL, len + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *mem;

	if (raw == MAP_FAILED)
		return MAP_FAILED;
	mem = (char *)(((uintptr_t)raw + PMD - 1) & ~(PMD - 1));
	if (mem > raw)
		munmap(raw, mem - raw);
	munmap(mem + len, PMD - (mem - raw));
	return mmap(mem, len, prot, flags | MAP_FIXED, fd, 0);
}

bool pad_tables(long nr)
{
	char *mem = map_aligned(nr * PMD, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (mem == MAP_FAILED || madvise(mem, nr * PMD, MADV_NOHUGEPAGE))
		return false;
	for (long i = 0; i < nr; i++)
		READ_ONCE(mem[i * PMD]);
	return true;
}

bool make_huge_pages(char *mem, size_t len)
{
	for (int i = 0; i < COLLAPSES; i++) {
		if (!madvise(mem, len, MADV_COLLAPSE))
			return true;
		if (errno != EAGAIN && errno != EBUSY && errno != ENOMEM)
			break;
		usleep(10000);
	}
	printf("# MADV_COLLAPSE: %m\n");
	return false;
}

bool collapse_ignores_sysfs(void)
{
	int fd = memfd_create("collapsed", MFD_CLOEXEC);
	char *mem = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	bool ignores = fd >= 0 && !ftruncate(fd, PMD) && mem != MAP_FAILED;

	if (ignores)
		fill(mem, PMD, 1);
	ignores = ignores && (make_huge_pages(mem, PMD) || errno != EINVAL);
	if (mem != MAP_FAILED)
		munmap(mem, PMD);
	close(fd);
	return ignores;
}

/* Never zero, and different from one page to the next. */
unsigned char fill_byte(size_t page, unsigned char seed)
{
	return (page * 7 + seed) % 251 + 1;
}

void fill(char *mem, size_t len, unsigned char seed)
{
	for (size_t i = 0; i < len / PAGE; i++)
		memset(mem + i * PAGE, fill_byte(i, seed), PAGE);
}

bool page_is(const char *page, unsigned char byte)
{
	return page[0] == (char)byte && !memcmp(page, page + 1, PAGE - 1);
}

long count_wrong(const char *mem, size_t len, unsigned char seed)
{
	long wrong = 0;

	for (size_t i = 0; i < len / PAGE; i++)
		wrong += !page_is(mem + i * PAGE, fill_byte(i, seed));
	return wrong;
}

long count_not_zero(const char *mem, size_t len)
{
	long wrong = 0;

	for (size_t i = 0; i < len / PAGE; i++)
		wrong += !page_is(mem + i * PAGE, 0);
	return wrong;
}

/* Files on XFS. */

static bool fill_file(int fd, size_t len, unsigned char seed, size_t chunk)
{
	char *data = malloc(len);
	bool done = data;

	if (data)
		fill(data, len, seed);
	for (size_t at = 0; done && at < len; at += chunk)
		done = pwrite(fd, data + at, chunk, at) == (ssize_t)chunk;
	free(data);
	return done && !fsync(fd);
}

static bool has_xfs(void)
{
	struct statfs fs;

	return !statfs("/mnt", &fs) && fs.f_type == XFS_MAGIC;
}

static int filled(int fd, size_t len, unsigned char seed, unsigned long kib)
{
	if (fd < 0)
		return -1;
	/* One extent: a write, and its last folio, would end where XFS's reservation ends. */
	if (!posix_fallocate(fd, 0, len) && fill_file(fd, len, seed, kib * KIB))
		return fd;
	close(fd);
	return -1;
}

int xfs_file(size_t len, unsigned char seed, unsigned long kib)
{
	char path[] = "/mnt/unmap-XXXXXX";
	int fd = has_xfs() ? mkstemp(path) : -1;

	if (fd >= 0)
		unlink(path);
	return filled(fd, len, seed, kib);
}

int xfs_file_named(const char *path, size_t len, unsigned char seed, unsigned long kib)
{
	int fd = has_xfs() ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;

	return filled(fd, len, seed, kib);
}

void drop_caches(void)
{
	write_text("/proc/sys/vm/drop_caches", "1");
}

/* Guard regions. */

bool guard(char *mem, size_t len, bool on)
{
	return !madvise(mem, len, on ? MADV_GUARD_INSTALL : MADV_GUARD_REMOVE);
}

bool is_guarded(char *page)
{
	return madvise(page, PAGE, MADV_POPULATE_READ) && errno == EFAULT;
}

/* Extra references: vmsplice() puts pages in a pipe without copying them. */

bool pin_open(struct pin *pin)
{
	if (pipe2(pin->fds, O_NONBLOCK))
		return false;
	fcntl(pin->fds[1], F_SETPIPE_SZ, RANGE / 2);
	return true;
}

bool pin_page(struct pin *pin, const void *addr)
{
	struct iovec iov = { .iov_base = (void *)addr, .iov_len = PAGE };

	return vmsplice(pin->fds[1], &iov, 1, SPLICE_F_NONBLOCK) == (ssize_t)PAGE;
}

void unpin(struct pin *pin)
{
	close(pin->fds[0]);
	close(pin->fds[1]);
}

/* Swap. */

bool swap_has_room(size_t bytes)
{
	return read_field("/proc/meminfo", "SwapFree:") * 1024 >= (long long)bytes;
}

bool swap_is_on(void)
{
	return swap_has_room(32 * MIB);
}
