// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor moves a page to another memory node; the second one clears soft-dirty
 * meanwhile.  A later store must count.
 *
 *	cleared ROUNDS [control]
 *
 * control: it is cleared when the page has moved.
 *
 * Needs two memory nodes: numa=fake=2.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/scene.h"

#define MPOL_MF_MOVE	2		/* <linux/mempolicy.h> */
#define SOFT_DIRTY	(1ULL << 55)	/* of an entry of pagemap */

static char *mem;
static int status;
static bool control;

/* To that node, or to where it is if negative. */
static int move_to(int node)
{
	void *page = mem;

	status = -1;
	return syscall(SYS_move_pages, 0, 1UL, &page, node < 0 ? NULL : &node, &status,
		       MPOL_MF_MOVE);
}

static bool prepare(void)
{
	NEED(!access("/sys/devices/system/node/node1", F_OK));
	mem = scene_map(PMD, -1);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	return true;
}

static bool ready(void)
{
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	mem[0] = 1;
	NEED(!move_to(0) && status == 0);
	return true;
}

static void move(void)
{
	if (move_to(1) < 0)
		scene_says("move_pages: %m");
}

static void clear(void)
{
	if (!scene_write("/proc/self/clear_refs", "4"))
		scene_says("clear_refs: %m");
}

static void clear_meanwhile(void)
{
	if (!control)
		clear();
}

static bool right(void)
{
	bool found;

	if (control)
		clear();
	*(volatile char *)mem = 2;
	found = scene_pagemap(mem) & SOFT_DIRTY;
	if (status != 1)
		scene_says("the page did not move: %d", status);
	if (!found)
		scene_says("a store does not count as written");
	return found;
}

static const struct scene scene = { prepare, ready, NULL, move, clear_meanwhile, right };

int main(int argc, char **argv)
{
	control = argc > 2;
	return scene_main(argc, argv, &scene);
}
