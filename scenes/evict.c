// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor evicts memory that was written to; the second one stores through an old TLB
 * entry, when nothing maps the page any more.  What it stored must be there in the end.
 *
 *	evict ROUNDS [shmem|KIB]
 *
 * KIB: private, in folios of that size.
 *
 * Anonymous memory, which goes to swap: private, or with "shmem" shared.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define LEN	(16 * PAGE)
#define PLACES	64	/* where memory is, one after another */
#define AT	(5 * PAGE)
#define FIRST	41
#define LAST	43

static char *all, *mem;
static int fd = -1;
static unsigned long rounds;

static bool make(const char *what)
{
	bool shmem = what && !strcmp(what, "shmem");

	fd = shmem ? memfd_create("evict", MFD_CLOEXEC) : -1;
	NEED(!shmem || (fd >= 0 && !ftruncate(fd, PLACES * PMD)));
	all = scene_map(PLACES * PMD, fd);
	NEED(all != MAP_FAILED);
	return scene_folios(all, PLACES * PMD, shmem ? NULL : what);
}

/* Of new pages, at a new place: a kernel that does not flush leaves old TLB entries here, too. */
static bool ready(void)
{
	mem = all + rounds++ % PLACES * PMD;
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	NEED(fd < 0 || !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, mem - all,
			     LEN));
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
	int found;

	NEED(!madvise(mem, LEN, MADV_PAGEOUT));
	found = scene_peek(mem + AT);
	if (found != LAST)
		scene_says("the store of %d was lost: %d", LAST, found);
	return found == LAST;
}

int main(int argc, char **argv)
{
	const struct scene scene = { NULL, ready, warm, evict, store, is_there };

	if (!make(argv[2]))
		return 2;
	return scene_main(argc, argv, &scene);
}
