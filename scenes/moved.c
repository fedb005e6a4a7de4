// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor moves a folio to another place in memory; the second one meets the migration
 * entries that stand in for it meanwhile.
 *
 *	moved ROUNDS stored|half|forked|cleared|beside [KIB|near]
 *
 * stored: it stores to a page, through an old TLB entry if there is one; what it stored must be
 * there in the end.
 * half: it unmaps one half; the folio must count as partially mapped in the end.
 * forked: it forks; parent and child must have the content.
 * cleared: it clears soft-dirty; a later store must set it.
 * beside: two page tables map the folio; it unmaps the half that the first one maps, and has a huge
 * page there.  The other half must have its content.
 * KIB: the size of folios.
 * near: the folio is a single page, and moves with fifteen others of its table.
 *
 * Needs /dev/unmap_test, which kernels have that are built for tests.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kernel/mm/unmap/tests/driver.h"
#include "lib/scene.h"

#define LEN	(16 * PAGE)
#define HALF	(LEN / 2)
#define PLACES	64	/* where memory is, one after another */
#define POLLS	200000
#define AT	(5 * PAGE)
#define FIRST	41
#define LAST	43
#define SOFT_DIRTY	(1ULL << 55)	/* of an entry of pagemap */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25	/* newer than some C libraries */
#endif
#define PARTLY	"/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/nr_anon_partially_mapped"

static char *all, *mem;
static int device, status;
static long pages = 1, moved, partly;
static bool near;
static unsigned long rounds;

static bool make(const char *kib)
{
	device = open("/dev/unmap_test", O_RDWR);
	NEED(device >= 0);
	all = scene_map(PLACES * PMD, -1);
	NEED(all != MAP_FAILED);
	if (kib)
		pages = LEN / PAGE;
	near = kib && !strcmp(kib, "near");
	return scene_folios(all, PLACES * PMD, near ? NULL : kib);
}

/* Of new pages, at a new place: a kernel that does not flush leaves old TLB entries here, too. */
static bool ready(void)
{
	mem = all + rounds++ % PLACES * PMD;
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	memset(mem, FIRST, LEN);
	partly = scene_number(PARTLY);
	return true;
}

/*
 * The folio is mapped half a folio off, so that two page tables map it.  Another one has pages in
 * the first of the tables, too.
 */
static bool ready_beside(void)
{
	char *from = all + 4 * PMD, *to = all + PMD - HALF;

	NEED(mmap(from, 2 * PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		  -1, 0) == from);
	NEED(!madvise(from, 2 * PMD, MADV_HUGEPAGE));
	memset(from, FIRST, LEN);
	memset(from + PMD, FIRST, LEN);
	NEED(mremap(from, 2 * PMD, 2 * PMD, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	mem = to + PMD;
	return true;
}

static void warm(void)
{
	*(volatile char *)(mem + AT) = FIRST;
}

/* The folio of the page at AT, or all pages. */
static void move(void)
{
	struct unmap_driver_range range = {
		.addr = (uintptr_t)mem + (near ? 0 : AT),
		.pages = near ? pages : 1,
	};

	moved = ioctl(device, UNMAP_DRIVER_MOVE, &range);
}

static bool all_moved(void)
{
	if (moved != pages)
		scene_says("%ld pages moved", moved);
	return moved == pages;
}

static void store(void)
{
	*(volatile char *)(mem + AT) = LAST;
}

static bool is_stored(void)
{
	int found = scene_peek(mem + AT);

	if (found != LAST)
		scene_says("the store of %d was lost: %d", LAST, found);
	return found == LAST && all_moved();
}

static void unmap_half(void)
{
	madvise(mem + HALF, HALF, MADV_DONTNEED);
}

static bool is_partly(void)
{
	long now = scene_number(PARTLY);

	if (now != partly + 1)
		scene_says("%ld folios are partially mapped, not %ld", now, partly + 1);
	return now == partly + 1 && all_moved();
}

static bool has_content(void)
{
	for (size_t i = 0; i < LEN; i += PAGE)
		if (mem[i] != FIRST)
			return false;
	return true;
}

static void fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(has_content() ? 0 : 1);
	status = -1;
	waitpid(pid, &status, 0);
}

static bool is_copied(void)
{
	if (status)
		scene_says("the child ended with %#x", status);
	if (!has_content())
		scene_says("the parent lost its content");
	return !status && has_content() && all_moved();
}

static void clear(void)
{
	if (!scene_write("/proc/self/clear_refs", "4"))
		scene_says("clear_refs: %m");
}

static bool is_noticed(void)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	store();
	NEED(pagemap >= 0);
	NEED(pread(pagemap, &entry, sizeof(entry), (uintptr_t)(mem + AT) / PAGE * sizeof(entry)) ==
	     sizeof(entry));
	close(pagemap);
	if (!(entry & SOFT_DIRTY))
		scene_says("the store was not noticed");
	return entry & SOFT_DIRTY && all_moved();
}

/* A gate stops this processor here for a moment, until the other one stands at its second gate. */
__attribute__((noinline)) static void moved_waits(void)
{
	asm volatile("" ::: "memory");
}

static void make_huge(void)
{
	if (madvise(mem, HALF, MADV_DONTNEED))
		scene_says("MADV_DONTNEED: %m");
	for (long i = 0; i < POLLS; i++)
		moved_waits();
	if (madvise(mem + HALF - PMD, PMD, MADV_COLLAPSE))
		scene_says("MADV_COLLAPSE: %m");
}

static bool is_behind(void)
{
	for (size_t i = 0; i < LEN; i += PAGE)
		if (mem[i] != (i < HALF ? 0 : FIRST)) {
			scene_says("page %zu holds %d", i / PAGE, mem[i]);
			return false;
		}
	return all_moved();
}

static const struct part {
	const char *name;
	bool (*ready)(void);
	void (*second)(void);
	bool (*right)(void);
} parts[] = {
	{ "stored", ready, store, is_stored },
	{ "half", ready, unmap_half, is_partly },
	{ "forked", ready, fork_child, is_copied },
	{ "cleared", ready, clear, is_noticed },
	{ "beside", ready_beside, make_huge, is_behind },
	{ }
};

static const struct part *find(const char *name)
{
	const struct part *part = parts;

	while (part->name && strcmp(part->name, name))
		part++;
	return part;
}

int main(int argc, char **argv)
{
	const struct part *part = find(argc > 2 ? argv[2] : "stored");
	const struct scene scene = { NULL, part->ready, warm, move, part->second, part->right };

	if (!part->name)
		return 2;

	if (!make(argc > 3 ? argv[3] : NULL))
		return 2;
	return scene_main(argc, argv, &scene);
}
