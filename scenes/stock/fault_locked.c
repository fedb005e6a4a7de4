// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor stores to shared memory, and its fault finds a page table; the second one
 * purges the memory meanwhile, so that the table goes.
 *
 *	fault_locked ROUNDS [control]
 *
 * A gate counts how often the fault allocates another one in finish_fault(), whose caller has locked
 * the page.  control: the memory is not purged.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/scene.h"

#define AT	(7 * PAGE)
#define OTHER	(PMD / 2)	/* faults map neighbours, too */

static char *mem;
static bool control;

static bool prepare(void)
{
	int fd = memfd_create("fault_locked", MFD_CLOEXEC);

	NEED(fd >= 0 && !ftruncate(fd, PMD));
	mem = scene_map(PMD, fd);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	mem[AT] = 1;
	mem[OTHER] = 1;
	return true;
}

/* A table, which maps another page. */
static bool ready(void)
{
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	(void)*(volatile char *)(mem + OTHER);
	return true;
}

/* A load would map the page without shmem_fault(), since it is in memory. */
static void fault(void)
{
	*(volatile char *)(mem + AT) = 1;
}

static void purge(void)
{
	if (!control && madvise(mem, PMD, MADV_DONTNEED))
		scene_says("MADV_DONTNEED: %m");
}

static bool right(void)
{
	return mem[AT] == 1;
}

static const struct scene scene = { prepare, ready, NULL, fault, purge, right };

int main(int argc, char **argv)
{
	control = argc > 2;
	return scene_main(argc, argv, &scene);
}
