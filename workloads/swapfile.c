// SPDX-License-Identifier: GPL-2.0-only
/* A swap file on XFS: see swapfile.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <unistd.h>

#include "datafile.h"
#include "swapfile.h"
#include "workload.h"

#define SWAP_DEVICE	"/dev/zram0"
#define SWAP_FILE	"/mnt/swapfile"

/* The first page of a swap area, as mkswap(8) writes it. */
struct header {
	char bootbits[1024];
	uint32_t version, last_page, nr_badpages;
	char padding[PAGE - 1024 - 3 * sizeof(uint32_t) - 10];
	char magic[10];
};

_Static_assert(sizeof(struct header) == PAGE, "a header is a page");

static void make_area(int fd, size_t len)
{
	struct header *header = calloc(1, sizeof(*header));

	if (!header)
		fail("out of memory");
	header->version = 1;
	header->last_page = len / PAGE - 1;
	memcpy(header->magic, "SWAPSPACE2", sizeof(header->magic));
	if (pwrite(fd, header, sizeof(*header), 0) != sizeof(*header) || fsync(fd))
		fail("cannot write the swap file: %s", strerror(errno));
	free(header);
}

void swap_to_file(size_t len)
{
	int fd;

	need_space(len);
	unlink(SWAP_FILE);
	fd = open(SWAP_FILE, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, len))
		skip("cannot make %s: %s", SWAP_FILE, strerror(errno));
	make_area(fd, len);
	close(fd);
	if (swapoff(SWAP_DEVICE) || swapon(SWAP_FILE, 0))
		fail("cannot swap to %s: %s", SWAP_FILE, strerror(errno));
}

void swap_to_device(void)
{
	if (swapoff(SWAP_FILE) || swapon(SWAP_DEVICE, 0))
		fail("cannot swap to %s again: %s", SWAP_DEVICE, strerror(errno));
	unlink(SWAP_FILE);
}
