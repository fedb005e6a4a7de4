// SPDX-License-Identifier: GPL-2.0-only
/* A swap file on XFS: see swapfile.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/swap.h>
#include <unistd.h>

#include "../../kernel/tools/testing/selftests/unmap/lib/swap_area.h"
#include "datafile.h"
#include "swapfile.h"
#include "workload.h"

#define SWAP_DEVICE	"/dev/zram0"
#define SWAP_FILE	"/mnt/swapfile"

void swap_to_file(size_t len)
{
	int fd;

	need_space(len);
	unlink(SWAP_FILE);
	fd = open(SWAP_FILE, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || fallocate(fd, 0, 0, len))
		skip("cannot make %s: %s", SWAP_FILE, strerror(errno));
	if (!write_swap_area(fd, len))
		fail("cannot write the swap file: %s", strerror(errno));
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
