// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor purges memory.  When madvise() has returned, the second one reads it: what
 * its TLB still translates would be what the memory held before.
 *
 *	purge ROUNDS private|shared|refilled
 *
 * refilled: while the first processor is still in madvise(), the second one stores to a page that was
 * purged.  What it stored must stay.
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
#define NEW	43

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

/* No TLB has an entry: the second processor stores by a fault. */
static bool ready_afresh(void)
{
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	return ready();
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

static void store(void)
{
	*(volatile char *)(mem + AT) = NEW;
}

static bool is_stored(void)
{
	found = *(volatile char *)(mem + AT);
	if (found != NEW)
		scene_says("read %d, where %d was stored after the page was purged", found, NEW);
	return found == NEW;
}

int main(int argc, char **argv)
{
	const struct scene refilled = { NULL, ready_afresh, NULL, purge, store, is_stored };
	const struct scene scene = { NULL, ready, look, purge, look, is_new };

	if (argc < 3 || !make(!strcmp(argv[2], "shared")))
		return 2;
	return scene_main(argc, argv, strcmp(argv[2], "refilled") ? &scene : &refilled);
}
