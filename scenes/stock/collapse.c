// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor puts a huge page of shared memory in place of a page table that maps its pages
 * one by one; the second one purges the memory meanwhile, so that the table goes.
 *
 *	collapse ROUNDS twice|lock [control]
 *
 * twice: the VMA is shared.  The process has one page table less afterwards, not two.
 * lock: the VMA is private, and registered with userfaultfd.
 * control: the memory is not purged.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/scene.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

static char *mem;
static long tables;	/* in kB, while the table is there */
static bool control;

/* In kB, -1 if it is not known. */
static long page_tables(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPTE: %ld kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static bool prepare(void)
{
	int fd = memfd_create("collapse", MFD_CLOEXEC);

	NEED(fd >= 0 && !ftruncate(fd, PMD));
	mem = scene_map(PMD, fd);
	NEED(mem != MAP_FAILED);
	memset(mem, 1, PMD);
	NEED(!madvise(mem, PMD, MADV_COLLAPSE));
	return true;
}

static bool registered(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (unsigned long)mem, PMD },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	NEED(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api));
	NEED(!ioctl(uffd, UFFDIO_REGISTER, &range));
	return true;
}

/* The huge page is there already. */
static bool prepare_lock(void)
{
	int fd = memfd_create("collapse", MFD_CLOEXEC);
	char *shared;

	NEED(fd >= 0 && !ftruncate(fd, PMD));
	shared = scene_map(PMD, fd);
	NEED(shared != MAP_FAILED);
	memset(shared, 1, PMD);
	NEED(!madvise(shared, PMD, MADV_COLLAPSE));
	mem = mmap(shared, PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
	NEED(mem == shared);
	return registered();
}

/* A page table maps the huge page. */
static bool ready(void)
{
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	for (size_t i = 0; i < PMD; i += PAGE)
		(void)*(volatile char *)(mem + i);
	NEED(!madvise(mem, PMD, MADV_HUGEPAGE));
	tables = page_tables();
	NEED(tables > 0);
	return true;
}

/* It may give up, because the table has gone. */
static void collapse(void)
{
	madvise(mem, PMD, MADV_COLLAPSE);
}

static void purge(void)
{
	if (!control && madvise(mem, PMD, MADV_DONTNEED))
		scene_says("MADV_DONTNEED: %m");
}

static bool right(void)
{
	long now = page_tables(), wanted = tables - (long)PAGE / 1024;

	if (now == wanted)
		return true;
	scene_says("page tables count as %ld kB instead of %ld", now, wanted);
	return false;
}

static const struct scene twice = { prepare, ready, NULL, collapse, purge, right };
static const struct scene lock = { prepare_lock, ready, NULL, collapse, purge, right };

int main(int argc, char **argv)
{
	control = argc > 3;
	return scene_main(argc, argv, argc > 2 && !strcmp(argv[2], "lock") ? &lock : &twice);
}
