// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor reads shared memory, and its fault finds a page table; the second one purges
 * the memory meanwhile, so that the table goes.  No fault may allocate another one with a folio
 * locked.
 *
 *	fault_locked ROUNDS
 */
#define _GNU_SOURCE
#include <linux/kernel-page-flags.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/scene.h"

#define AT	(7 * PAGE)
#define OTHER	(9 * PAGE)
#define POLLS	200000
#define PFN_MASK	((1ULL << 55) - 1)	/* of an entry of pagemap */

static char *mem;
static uint64_t pfn;		/* of the page at AT */
static bool locked;

static bool prepare(void)
{
	int fd = memfd_create("fault_locked", MFD_CLOEXEC);

	NEED(fd >= 0 && !ftruncate(fd, PMD));
	mem = scene_map(PMD, fd);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	mem[AT] = 1;
	mem[OTHER] = 1;
	pfn = scene_pagemap(mem + AT) & PFN_MASK;
	NEED(pfn);
	return true;
}

/* A table, which maps another page. */
static bool ready(void)
{
	locked = false;
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	(void)*(volatile char *)(mem + OTHER);
	return true;
}

static void fault(void)
{
	(void)*(volatile char *)(mem + AT);
}

/* A gate stops this processor here for a moment, until the other one stands at its second gate. */
__attribute__((noinline)) static void fault_waits(void)
{
	asm volatile("" ::: "memory");
}

static void purge_and_look(void)
{
	if (madvise(mem, PMD, MADV_DONTNEED))
		scene_says("MADV_DONTNEED: %m");
	for (long i = 0; i < POLLS; i++)
		fault_waits();
	locked = scene_entry("/proc/kpageflags", pfn) >> KPF_LOCKED & 1;
}

static bool right(void)
{
	if (locked)
		scene_says("a page table is allocated while the page is locked");
	return !locked;
}

static const struct scene scene = { prepare, ready, NULL, fault, purge_and_look, right };

int main(int argc, char **argv)
{
	return scene_main(argc, argv, &scene);
}
