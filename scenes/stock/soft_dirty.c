// SPDX-License-Identifier: GPL-2.0-only
/*
 * Soft-dirty says which pages were written since it was cleared.
 *
 *	soft_dirty ROUNDS merged|reclaim|mprotect [control]
 *
 * merged: a page was unmapped and mapped anew, and its VMA is merged with an older one; it must
 * count as written.  control: it is not merged.
 * reclaim: a large folio was given back with MADV_FREE, and one page of it was written again,
 * before soft-dirty was cleared; reclaim cannot free it.  No page was written since.  control:
 * pages are folios of their own.
 * mprotect: a large folio that was written before soft-dirty was cleared becomes read-only.  No
 * page was written since.  control: pages are folios of their own.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "../lib/scene.h"

#define LEN		(16 * PAGE)
#define SOFT_DIRTY	(1ULL << 55)	/* of an entry of pagemap */

static char *mem;
static bool control;

static bool prepare(void)
{
	mem = scene_map(PMD, -1);
	NEED(mem != MAP_FAILED);
	return scene_folios(mem, PMD, control ? NULL : "64");
}

static bool clear(void)
{
	NEED(scene_write("/proc/self/clear_refs", "4"));
	return true;
}

static bool map(char *addr, size_t len, int prot)
{
	NEED(mmap(addr, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == addr);
	return true;
}

/* Neither of the two VMAs has been touched when they are merged. */
static bool ready_merged(void)
{
	NEED(map(mem, LEN, PROT_NONE) && map(mem, PAGE, PROT_READ));
	NEED(map(mem + PAGE, PAGE, PROT_READ | PROT_WRITE));
	mem[PAGE] = 1;
	return clear() && map(mem + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static void merge(void)
{
	if (!control && mprotect(mem, PAGE, PROT_READ | PROT_WRITE))
		scene_says("mprotect: %m");
}

static bool is_reported(void)
{
	bool found = scene_pagemap(mem + PAGE) & SOFT_DIRTY;

	if (!found)
		scene_says("a page that is new does not count as written");
	return found;
}

/* New pages, written. */
static bool fill(void)
{
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	NEED(!mprotect(mem, LEN, PROT_READ | PROT_WRITE));
	memset(mem, 1, LEN);
	return true;
}

static bool ready_reclaim(void)
{
	NEED(fill());
	NEED(!madvise(mem, LEN, MADV_FREE));
	mem[PAGE] = 2;
	return clear();
}

static void reclaim(void)
{
	if (madvise(mem, LEN, MADV_PAGEOUT))
		scene_says("MADV_PAGEOUT: %m");
}

static bool ready_mprotect(void)
{
	return fill() && clear();
}

static void protect(void)
{
	if (mprotect(mem, LEN, PROT_READ))
		scene_says("mprotect: %m");
}

static bool none_is_reported(void)
{
	int found = 0;

	for (size_t i = 0; i < LEN; i += PAGE)
		found += !!(scene_pagemap(mem + i) & SOFT_DIRTY);
	if (found)
		scene_says("%d of %lu pages count as written", found, LEN / PAGE);
	return !found;
}

static const struct {
	const char *name;
	struct scene scene;
} acts[] = {
	{ "merged", { .prepare = prepare, .ready = ready_merged, .first = merge,
		      .right = is_reported } },
	{ "reclaim", { .prepare = prepare, .ready = ready_reclaim, .first = reclaim,
		       .right = none_is_reported } },
	{ "mprotect", { .prepare = prepare, .ready = ready_mprotect, .first = protect,
			.right = none_is_reported } },
};

int main(int argc, char **argv)
{
	control = argc > 3;
	for (size_t i = 0; argc > 2 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[2], acts[i].name))
			return scene_alone(argc, argv, &acts[i].scene);
	return 2;
}
