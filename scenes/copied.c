// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor evicts neighbouring pages.  When it has unlocked them, the second one has the
 * kernel store to one of them, which gets a new page, and reads it: what its TLB still translates
 * would be the old page.  process_vm_writev() stores without this processor's TLB.
 *
 *	copied ROUNDS lazyfree
 *	copied ROUNDS private FILE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/scene.h"

#define LEN	(16 * PAGE)
#define AT	(5 * PAGE)
#define FIRST	41
#define LAST	43

static char *mem;
static int fd = -1;
static char found;

static bool map_private(const char *path)
{
	char block[LEN];

	memset(block, FIRST, LEN);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	NEED(fd >= 0);
	NEED(write(fd, block, LEN) == (ssize_t)LEN);
	NEED(!fsync(fd));
	/* What reading brings back is single pages. */
	NEED(!posix_fadvise(fd, 0, LEN, POSIX_FADV_DONTNEED));
	NEED(!posix_fadvise(fd, 0, LEN, POSIX_FADV_RANDOM));
	NEED(mmap(mem, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == mem);
	NEED(!madvise(mem, LEN, MADV_RANDOM));
	return true;
}

static bool make(const char *path)
{
	mem = scene_map(LEN, -1);
	NEED(mem != MAP_FAILED);
	if (path)
		return map_private(path);
	NEED(!madvise(mem, LEN, MADV_NOHUGEPAGE));
	return true;
}

static bool ready(void)
{
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	if (fd >= 0) {
		NEED(!madvise(mem, LEN, MADV_POPULATE_READ));
		return true;
	}
	memset(mem, FIRST, LEN);
	NEED(!madvise(mem, LEN, MADV_FREE));
	return true;
}

static void look(void)
{
	found = *(volatile char *)(mem + AT);
}

static void evict(void)
{
	madvise(mem, LEN, MADV_PAGEOUT);
}

static void store_and_look(void)
{
	static char last = LAST;
	const struct iovec from = { &last, 1 }, to = { mem + AT, 1 };

	if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != 1)
		scene_says("process_vm_writev(): %m");
	look();
}

static bool is_new(void)
{
	if (found != LAST)
		scene_says("read %d, although %d was stored before", found, LAST);
	return found == LAST;
}

int main(int argc, char **argv)
{
	const struct scene scene = { NULL, ready, look, evict, store_and_look, is_new };

	if (argc < 3 || !make(argv[3]))
		return 2;
	return scene_main(argc, argv, &scene);
}
