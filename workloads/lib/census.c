// SPDX-License-Identifier: GPL-2.0-only
/* What a range maps, read from pagemap and kpageflags: see workload.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

#define PM_PRESENT	BIT_ULL(63)
#define PM_PFN_MASK	(BIT_ULL(55) - 1)
#define KPF_COMPOUND_TAIL	BIT_ULL(16)

#ifndef SMAPS_ROLLUP
#define SMAPS_ROLLUP	"/proc/self/smaps_rollup"
#endif

#define BATCH	512

static int open_proc(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		skip("cannot open %s: %s", path, strerror(errno));
	return fd;
}

static void read_words(int fd, u64 *words, size_t nr, u64 index)
{
	ssize_t len = nr * sizeof(*words);

	if (pread(fd, words, len, index * sizeof(*words)) != len)
		fail("short read of page information at %llu", (unsigned long long)index);
}

typedef void entry_fn(u64 entry, unsigned long index, void *arg);

/* Call @fn with the pagemap entry of every page of the range. */
static void visit_entries(const void *start, size_t len, entry_fn *fn, void *arg)
{
	unsigned long first = (uintptr_t)start / PAGE, pages = len / PAGE;
	int fd = open_proc("/proc/self/pagemap");
	u64 entries[BATCH];

	for (unsigned long i = 0; i < pages; i++) {
		unsigned long left = pages - i;

		if (i % BATCH == 0)
			read_words(fd, entries, left < BATCH ? left : BATCH, first + i);
		fn(entries[i % BATCH], i, arg);
	}
	close(fd);
}

struct folio_walk {
	int kpageflags;
	unsigned long folio_pages;	/* 0: do not check the size */
	bool *heads;			/* or NULL */
	struct census census;
};

static void visit_page(u64 entry, unsigned long index, void *arg)
{
	struct folio_walk *walk = arg;
	u64 flags;
	bool tail;

	if (!(entry & PM_PRESENT)) {
		if (walk->folio_pages)
			fail("page %lu is not mapped", index);
		return;
	}
	read_words(walk->kpageflags, &flags, 1, entry & PM_PFN_MASK);
	tail = flags & KPF_COMPOUND_TAIL;
	if (walk->folio_pages && tail != (index % walk->folio_pages != 0))
		fail("page %lu does not belong to a folio of %lu KiB", index,
		     walk->folio_pages * PAGE / 1024);
	if (walk->heads)
		walk->heads[index] = !tail;
	walk->census.pages++;
	walk->census.folios += !tail;
}

static struct census walk_folios(const void *start, size_t len, unsigned long folio_pages,
				 bool *heads)
{
	struct folio_walk walk = {
		.kpageflags = open_proc("/proc/kpageflags"),
		.folio_pages = folio_pages,
		.heads = heads,
	};

	visit_entries(start, len, visit_page, &walk);
	close(walk.kpageflags);
	return walk.census;
}

struct census take_census(const void *start, size_t len)
{
	return walk_folios(start, len, 0, NULL);
}

struct census map_folios(const void *start, size_t len, bool *heads)
{
	memset(heads, false, len / PAGE);
	return walk_folios(start, len, 0, heads);
}

void check_folios(const void *start, size_t len, unsigned long kib)
{
	walk_folios(start, len, kib * 1024 / PAGE, NULL);
}

void check_ptes(void)
{
	static const char * const kinds[] = {
		"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:",
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		u64 kib = read_field(SMAPS_ROLLUP, kinds[i]);

		if (kib)
			fail("%s %llu kB: PMDs map memory that PTEs should map", kinds[i],
			     (unsigned long long)kib);
	}
}

static void count_entry(u64 entry, unsigned long index, void *arg)
{
	(void)index;
	/* Bits 55 (soft-dirty) and 56 (exclusive) may be set without a page. */
	if (entry & ~(3ULL << 55))
		++*(unsigned long *)arg;
}

unsigned long count_entries(const void *start, size_t len)
{
	unsigned long entries = 0;

	visit_entries(start, len, count_entry, &entries);
	return entries;
}
