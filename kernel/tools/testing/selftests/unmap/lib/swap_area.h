/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make a file or a device a swap area: what mkswap(8) writes.
 *
 * The guest's init and workloads/ include this file, too.  It lies here because the
 * selftests must compile from the kernel tree alone.
 */
#ifndef SWAP_AREA_H
#define SWAP_AREA_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The first page of a swap area: the kernel's union swap_header.  No kernel's pages are larger. */
union swap_area_header {
	char page[65536];
	struct {
		char bootbits[1024];
		uint32_t version;
		uint32_t last_page;
		uint32_t nr_badpages;
	};
};

/* Write the header of an area of @bytes at the start of @fd. */
static inline bool write_swap_area(int fd, uint64_t bytes)
{
	static const char magic[] = "SWAPSPACE2";
	static union swap_area_header header;
	size_t size = sysconf(_SC_PAGESIZE), length = sizeof(magic) - 1;

	header.version = 1;
	header.last_page = bytes / size - 1;
	memcpy(header.page + size - length, magic, length);
	return pwrite(fd, &header, size, 0) == (ssize_t)size && !fsync(fd);
}

#endif /* SWAP_AREA_H */
