// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor moves large folios, which page-table entries map, to another memory node; the
 * second one asks meanwhile how many count as partially mapped.  None is: nobody has unmapped a part.
 *
 *	whole ROUNDS
 *
 * What counts so is split when memory is short: the caches are dropped after each round.  Two page
 * tables map one of the folios.
 *
 * Needs two memory nodes: numa=fake=2.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/scene.h"

#define FOLIO	(16 * PAGE)
#define FOLIOS	16
#define LEN	(FOLIOS * FOLIO)
#define STATS	"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/"
#define MPOL_DEFAULT	0	/* <linux/mempolicy.h> */
#define MPOL_BIND	2
#define MPOL_MF_MOVE	2

static char *all, *mem;
static long partly, split, seen, moved;

static long count(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), STATS "%s", name);
	return scene_number(path);
}

static bool prepare(void)
{
	NEED(!access("/sys/devices/system/node/node1", F_OK));
	NEED(count("nr_anon_partially_mapped") >= 0);
	all = scene_map(4 * PMD, -1);
	NEED(all != MAP_FAILED);
	mem = all + PMD - LEN / 2 - FOLIO / 2;
	return scene_folios(all, 4 * PMD, "64");
}

/* New folios on node 0, which are moved to where a page table ends. */
static bool ready(void)
{
	char *from = all + 2 * PMD;
	unsigned long node = 1;

	NEED(mmap(from, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0) == from);
	NEED(!syscall(SYS_set_mempolicy, MPOL_BIND, &node, 8 * sizeof(node)));
	memset(from, 1, LEN);
	NEED(!syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0));
	NEED(mremap(from, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, mem) == mem);
	partly = count("nr_anon_partially_mapped");
	split = count("split");
	return true;
}

static void move(void)
{
	int nodes[FOLIOS], status[FOLIOS];
	void *heads[FOLIOS];

	for (int i = 0; i < FOLIOS; i++) {
		heads[i] = mem + i * FOLIO;
		nodes[i] = 1;
	}
	moved = 0;
	if (syscall(SYS_move_pages, 0, FOLIOS, heads, nodes, status, MPOL_MF_MOVE) < 0)
		scene_says("move_pages: %m");
	for (int i = 0; i < FOLIOS; i++)
		moved += status[i] == 1;
}

static void look(void)
{
	seen = count("nr_anon_partially_mapped") - partly;
}

static bool right(void)
{
	long after = count("nr_anon_partially_mapped") - partly;

	if (moved != FOLIOS)
		scene_says("%ld of %d folios moved", moved, FOLIOS);
	if (!scene_write("/proc/sys/vm/drop_caches", "2"))
		scene_says("drop_caches: %m");
	split = count("split") - split;
	if (seen || after || split)
		scene_says("partially mapped: %ld during the move, %ld after it; %ld were split",
			   seen, after, split);
	return moved == FOLIOS && !seen && !after && !split;
}

static const struct scene scene = { prepare, ready, NULL, move, look, right };

int main(int argc, char **argv)
{
	return scene_main(argc, argv, &scene);
}
