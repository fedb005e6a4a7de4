// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor evicts memory that was written to; the second one stores through an old TLB
 * entry, when nothing maps the page any more.  What it stored must be there in the end.
 *
 *	evict ROUNDS [shmem]
 *
 * Anonymous memory, which goes to swap: private, or with "shmem" shared.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define LEN	(8 * PAGE)
#define AT	(5 * PAGE)
#define FIRST	41
#define LAST	43

static char *mem;
static int fd = -1;

static bool make(bool shmem)
{
	fd = shmem ? memfd_create("evict", MFD_CLOEXEC) : -1;
	NEED(!shmem || (fd >= 0 && !ftruncate(fd, LEN)));
	mem = scene_map(LEN, fd);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, LEN, MADV_NOHUGEPAGE));
	return true;
}

/* Of new pages. */
static bool ready(void)
{
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	NEED(fd < 0 || !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	memset(mem, FIRST, LEN);
	return true;
}

static void warm(void)
{
	*(volatile char *)(mem + AT) = FIRST;
}

static void evict(void)
{
	madvise(mem, LEN, MADV_PAGEOUT);
}

static void store(void)
{
	*(volatile char *)(mem + AT) = LAST;
}

/* Also once it was written, and read again. */
static bool is_there(void)
{
	NEED(!madvise(mem, LEN, MADV_PAGEOUT));
	if (mem[AT] != LAST)
		scene_says("the store of %d was lost: %d", LAST, mem[AT]);
	return mem[AT] == LAST;
}

int main(int argc, char **argv)
{
	const struct scene scene = { NULL, ready, warm, evict, store, is_there };

	if (!make(argc > 2))
		return 2;
	return scene_main(argc, argv, &scene);
}
