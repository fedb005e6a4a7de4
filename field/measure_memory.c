// SPDX-License-Identifier: GPL-2.0-only
/* Anonymous memory in folios of one size, and how much may be taken: see measure.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../workloads/lib/datafile.h"
#include "measure.h"

#ifndef CGROUPS
#define CGROUPS	"/sys/fs/cgroup"
#endif

/* Page cache, which a control group drops when it comes to its limit. */
static u64 cache_of(const char *group)
{
	char path[500];

	snprintf(path, sizeof(path), CGROUPS "%s/memory.stat", group);
	if (!path_exists(path))
		return 0;
	return read_field(path, "active_file ") + read_field(path, "inactive_file ");
}

/* How much of its limit a control group has left; all there is if it has no limit. */
static u64 room_of(const char *group)
{
	char path[500];
	u64 limit, used, cache = cache_of(group);

	snprintf(path, sizeof(path), CGROUPS "%s/memory.max", group);
	limit = strtoull(first_line(path), NULL, 10);
	if (!limit)	/* "max", or no such file */
		return UINT64_MAX;
	snprintf(path, sizeof(path), CGROUPS "%s/memory.current", group);
	used = strtoull(first_line(path), NULL, 10);
	used -= cache < used ? cache : used;
	return used < limit ? limit - used : 0;
}

/*
 * The least room of this process's control group and of those above (version 2).  In a
 * container the uppermost that can be seen has a limit, too.
 */
static u64 group_room(void)
{
	const char *found = field_of("/proc/self/cgroup", "0:");
	u64 room = UINT64_MAX, here;
	char group[400], *slash;

	snprintf(group, sizeof(group), "%s", *found == ':' ? found + 1 : "");
	for (;;) {
		here = room_of(group);
		room = here < room ? here : room;
		slash = strrchr(group, '/');
		if (!slash)
			return room;
		*slash = '\0';
	}
}

u64 allowance(void)
{
	u64 free = read_field("/proc/meminfo", "MemFree:") * 1024, room = group_room();

	return (free < room ? free : room) / 2;
}

/*
 * Touch the range, one folio of @kib KiB after the other.  It becomes accessible folio by
 * folio, so that no fault can take a larger one: that would lie outside of the VMA, or
 * over pages that are there.
 */
static void fill_pieces(char *mem, size_t len, size_t piece)
{
	if (mprotect(mem, len, PROT_NONE))
		fail("mprotect failed: %s", strerror(errno));
	for (size_t i = 0; i < len; i += piece) {
		if (mprotect(mem + i, piece, PROT_READ | PROT_WRITE))
			fail("mprotect failed: %s", strerror(errno));
		stamp_pages(mem + i, piece, i / PAGE);
	}
}

/* The kernel counts folios by size, for the whole machine. */
static void check_size(unsigned long kib, u64 before, size_t len)
{
	u64 made = thp_stat(kib, "anon_fault_alloc") - before, wanted = len / 1024 / kib;
	char path[100];

	if (made >= wanted - wanted / 10)
		return;
	snprintf(path, sizeof(path), THP "hugepages-%lukB/enabled", kib);
	if (!path_exists(path))
		skip("this kernel has no anonymous folios of %lu KiB", kib);
	skip("%llu of %llu folios were of %lu KiB (hugepages-%lukB/enabled: %s)%s",
	     (unsigned long long)made, (unsigned long long)wanted, kib, kib, first_line(path),
	     options.thp ? "" : "; --thp allows them");
}

char *fill_anon(size_t len, unsigned long kib)
{
	char *mem = map_anon(len);
	bool large = kib * 1024 > PAGE;
	u64 before = large ? thp_stat(kib, "anon_fault_alloc") : 0;

	/* Without huge pages the kernel does not know this advice. */
	if (madvise(mem, len, large ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) && large)
		skip("this kernel has no transparent huge pages");
	if (large && kib * 1024 < TABLE)
		fill_pieces(mem, len, kib * 1024);
	else
		stamp_pages(mem, len, 0);
	if (large)
		check_size(kib, before, len);
	if (kib * 1024 == TABLE)
		split_mapping(mem, len);
	return mem;
}

void note_gone(struct sample *sample, size_t len, u64 left)
{
	u64 pages = len / PAGE;

	if (left > pages / 10)
		skip("%llu of %llu pages could not be taken", (unsigned long long)left,
		     (unsigned long long)pages);
	sample->pages = pages - left;
}
