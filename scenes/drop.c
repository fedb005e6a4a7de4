// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor drops full page tables, and punches a hole in what they have mapped.  The
 * second one reads the page of the hole, through an old TLB entry.
 *
 *	drop ROUNDS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define UNMAP	"/sys/kernel/mm/unmap/"
#define COPIES	40L	/* of the mapping: fewer tables would not be worth it */
#define AT	(5 * PAGE)
#define OLD	41

static char *mem;
static int fd, found;
static long long dropped;

static long long tables_dropped(void)
{
	FILE *file = fopen(UNMAP "stat", "r");
	long long value = -1;
	char name[64];

	while (file && fscanf(file, "%63s %lld", name, &value) == 2 && strcmp(name, "drop_tables"))
		;
	if (file)
		fclose(file);
	return value;
}

static bool make(void)
{
	fd = memfd_create("drop", MFD_CLOEXEC);
	NEED(fd >= 0 && !ftruncate(fd, PMD));
	NEED(scene_write(UNMAP "drop_idle_ms", "0") && scene_write(UNMAP "drop_share", "0"));
	/* No line in the kernel's log each time. */
	NEED(scene_write("/proc/sys/vm/drop_caches", "4"));
	mem = scene_map(COPIES * PMD, -1);
	for (long i = 0; i < COPIES; i++)
		NEED(mmap(mem + i * PMD, PMD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			  0) == mem + i * PMD);
	NEED(!madvise(mem, COPIES * PMD, MADV_NOHUGEPAGE));
	return true;
}

static bool ready(void)
{
	memset(mem, OLD, PMD);
	for (long i = 0; i < COPIES; i++)
		(void)*(volatile char *)(mem + i * PMD + AT);
	dropped = tables_dropped();
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

static void drop(void)
{
	scene_write("/proc/sys/vm/drop_caches", "2");
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, AT, PAGE);
	purged();
}

static bool is_new(void)
{
	if (tables_dropped() < dropped + COPIES)
		scene_says("only %lld tables went", tables_dropped() - dropped);
	if (found)
		scene_says("read %d, which the page held before the hole", found);
	return !found && tables_dropped() >= dropped + COPIES;
}

int main(int argc, char **argv)
{
	const struct scene scene = { make, ready, look, drop, look, is_new };

	return scene_main(argc, argv, &scene);
}
