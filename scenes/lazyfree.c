// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor evicts memory after MADV_FREE; the second one stores to a page of it when
 * reclaim has decided to take it.  What it stored must be there in the end.
 *
 *	lazyfree ROUNDS [KIB]
 *
 * KIB: the size of folios.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "lib/scene.h"

#define LEN	(32 * PAGE)
#define AT	(5 * PAGE)
#define FIRST	41
#define LAST	43

static char *mem;

static bool make(const char *kib)
{
	mem = scene_map(LEN, -1);
	NEED(mem != MAP_FAILED);
	return scene_folios(mem, LEN, kib);
}

static bool ready(void)
{
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	memset(mem, FIRST, LEN);
	NEED(!madvise(mem, LEN, MADV_FREE));
	return true;
}

static void evict(void)
{
	madvise(mem, LEN, MADV_PAGEOUT);
}

static void store(void)
{
	*(volatile char *)(mem + AT) = LAST;
}

static bool is_there(void)
{
	if (mem[AT] != LAST)
		scene_says("the store of %d was lost: %d", LAST, mem[AT]);
	return mem[AT] == LAST;
}

int main(int argc, char **argv)
{
	const struct scene scene = { NULL, ready, NULL, evict, store, is_there };

	if (!make(argv[2]))
		return 2;
	return scene_main(argc, argv, &scene);
}
