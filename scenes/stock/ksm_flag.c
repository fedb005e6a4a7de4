// SPDX-License-Identifier: GPL-2.0-only
/*
 * A page of anonymous memory is not one of KSM's, which nobody has switched on.
 *
 *	ksm_flag ROUNDS [control]
 *
 * control: a page of shared memory.
 */
#define _GNU_SOURCE
#include <linux/kernel-page-flags.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/scene.h"

#define PFN_MASK	((1ULL << 55) - 1)	/* of an entry of pagemap */

static char *mem;
static bool control;

static bool prepare(void)
{
	int fd = control ? memfd_create("ksm_flag", MFD_CLOEXEC) : -1;

	NEED(!control || (fd >= 0 && !ftruncate(fd, PMD)));
	mem = scene_map(PMD, fd);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	return true;
}

static bool ready(void)
{
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	mem[0] = 1;
	return true;
}

static bool right(void)
{
	uint64_t pfn = scene_pagemap(mem) & PFN_MASK;
	bool found = scene_entry("/proc/kpageflags", pfn) >> KPF_KSM & 1;

	if (!pfn)
		scene_says("the page's frame is not known");
	if (found)
		scene_says("the page counts as one of KSM's");
	return !found && pfn;
}

int main(int argc, char **argv)
{
	const struct scene scene = { .prepare = prepare, .ready = ready, .right = right };

	control = argc > 2;
	return scene_alone(argc, argv, &scene);
}
