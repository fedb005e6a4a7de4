// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor purges memory.  When madvise() has returned, the second one reads it: what
 * its TLB still translates would be what the memory held before.
 *
 *	purge ROUNDS private|shared
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define LEN	(16 * PAGE)
#define AT	(5 * PAGE)
#define OLD	41

static char *mem;
static int fd = -1, found;

static bool make(bool shared)
{
	fd = shared ? memfd_create("purge", MFD_CLOEXEC) : -1;
	NEED(!shared || (fd >= 0 && !ftruncate(fd, LEN)));
	mem = scene_map(LEN, fd);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, LEN, MADV_NOHUGEPAGE));
	return true;
}

static bool ready(void)
{
	memset(mem, OLD, LEN);
	return true;
}

static void look(void)
{
	found = *(volatile char *)(mem + AT);
}

/* A gate stops the first processor here, until the second one has looked. */
__attribute__((noinline)) void purged(void)
{
	asm volatile("" ::: "memory");
}

static void purge(void)
{
	if (fd < 0)
		madvise(mem, LEN, MADV_DONTNEED);
	else
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN);
	purged();
}

static bool is_new(void)
{
	if (found)
		scene_says("read %d, which the memory held before it was purged", found);
	return !found;
}

int main(int argc, char **argv)
{
	const struct scene scene = { NULL, ready, look, purge, look, is_new };

	if (argc < 3 || !make(!strcmp(argv[2], "shared")))
		return 2;
	return scene_main(argc, argv, &scene);
}
