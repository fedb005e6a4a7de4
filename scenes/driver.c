// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor fills a driver's mapping, which has no page table yet; the second one purges
 * the memory behind it, so that the new table is empty, and is given back.
 *
 *	driver ROUNDS insert_page|insert_pages|apply|fault_once
 *
 * Needs /dev/unmap_test, which kernels have that are built for tests.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kernel/mm/unmap/tests/driver.h"
#include "lib/scene.h"

#define HALF	(PMD / 2)
#define SEVERAL	20

static char *mem;
static int device, wanted, found;
static struct unmap_driver_range range;
static unsigned long request;

static bool make(unsigned long offset)
{
	device = open("/dev/unmap_test", O_RDWR);
	NEED(device >= 0);
	mem = scene_map(PMD, -1);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	NEED(!offset || mmap(mem, HALF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, device,
			     (offset - 1) * PAGE) == mem);
	range.addr = (uintptr_t)mem;
	return true;
}

/* Without a page table. */
static bool ready(void)
{
	struct unmap_driver_range all = { .addr = (uintptr_t)mem, .pages = range.pages };

	NEED(!madvise(mem + HALF, HALF, MADV_DONTNEED));
	/* Entries of drivers are zapped without their table. */
	NEED(request == UNMAP_DRIVER_APPLY || !ioctl(device, UNMAP_DRIVER_ZAP, &all));
	mem[HALF] = 1;
	NEED(!madvise(mem + HALF, HALF, MADV_DONTNEED));
	return true;
}

static void fill(void)
{
	found = ioctl(device, request, &range);
}

static void purge(void)
{
	madvise(mem + HALF, HALF, MADV_DONTNEED);
}

static bool is_filled(void)
{
	if (found != wanted)
		scene_says("the driver got %d instead of %d: %m", found, wanted);
	return found == wanted;
}

static const struct {
	const char *name;
	unsigned long request;
	int offset, pages, wanted;
} acts[] = {
	{ "insert_page", UNMAP_DRIVER_INSERT_PAGE, 1 + UNMAP_DRIVER_PAGES, 1, 0 },
	{ "insert_pages", UNMAP_DRIVER_INSERT_PAGES, 1 + UNMAP_DRIVER_PAGES, SEVERAL, 0 },
	{ "apply", UNMAP_DRIVER_APPLY, 0, SEVERAL, SEVERAL },
	{ "fault_once", UNMAP_DRIVER_FAULT_ONCE, 1 + UNMAP_DRIVER_PFNS, 1, 0 },
};

int main(int argc, char **argv)
{
	const struct scene scene = { NULL, ready, NULL, fill, purge, is_filled };
	int offset = -1;

	for (size_t i = 0; argc > 2 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[2], acts[i].name)) {
			request = acts[i].request;
			range.pages = acts[i].pages;
			wanted = acts[i].wanted;
			offset = acts[i].offset;
		}
	if (offset < 0 || !make(offset))
		return 2;
	return scene_main(argc, argv, &scene);
}
