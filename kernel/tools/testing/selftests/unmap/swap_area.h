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

#define SWAP_AREA_PAGE	4096

/* The first page of a swap area: the kernel's union swap_header. */
struct swap_area_header {
	char bootbits[1024];
	uint32_t version;
	uint32_t last_page;
	uint32_t nr_badpages;
	char padding[SWAP_AREA_PAGE - 1024 - 3 * sizeof(uint32_t) - 10];
	char magic[10];
};

_Static_assert(sizeof(struct swap_area_header) == SWAP_AREA_PAGE, "a header is a page");

/* Write the header of an area of @bytes at the start of @fd. */
static inline bool write_swap_area(int fd, uint64_t bytes)
{
	static struct swap_area_header header;

	header.version = 1;
	header.last_page = bytes / SWAP_AREA_PAGE - 1;
	memcpy(header.magic, "SWAPSPACE2", sizeof(header.magic));
	return pwrite(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) && !fsync(fd);
}

#endif /* SWAP_AREA_H */
