// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor discards shared memory that was written to; the second one takes a page out
 * of the file, or has it written back and stores to it, through an old TLB entry.
 *
 *	discard ROUNDS punch|truncate|direct|stored|huge|kept [FILE]
 *
 * Without a file: shared memory.
 *
 * huge: as stored, with one huge page
 * kept: as stored, but the first processor reclaims: reclaim keeps what is dirty
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define AT	(PMD - PAGE)	/* the page that is acted on */
#define PFN_MASK	((1ULL << 55) - 1)	/* of an entry of pagemap */
#define FIRST	41
#define LAST	43

static char *mem, *block;
static int fd = -1, direct = -1, pagemap = -1, pageflags = -1;
static bool huge, kept, done;
static uint64_t pfn;		/* of the page that is kept */

static bool make(const char *path)
{
	fd = path ? open(path, O_RDWR | O_CREAT, 0644) : memfd_create("discard", MFD_CLOEXEC);
	NEED(fd >= 0);
	NEED(!ftruncate(fd, PMD));
	mem = scene_map(PMD, fd);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
	NEED(!posix_memalign((void **)&block, PAGE, PAGE));
	memset(block, LAST, PAGE);
	if (path)
		direct = open(path, O_RDWR | O_DIRECT);
	NEED(!path || direct >= 0);
	if (!kept)
		return true;
	/* One page is one folio. */
	NEED(!posix_fadvise(fd, 0, PMD, POSIX_FADV_RANDOM));
	pagemap = open("/proc/self/pagemap", O_RDONLY);
	pageflags = open("/proc/kpageflags", O_RDONLY);
	NEED(pagemap >= 0 && pageflags >= 0);
	return true;
}

/* A file's huge pages that one PMD maps, in bytes. */
static size_t mapped_huge(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	size_t kib, sum = 0;
	char line[256];

	while (smaps && fgets(line, sizeof(line), smaps))
		if (sscanf(line, "FilePmdMapped: %zu kB", &kib) == 1)
			sum += kib * 1024;
	if (smaps)
		fclose(smaps);
	return sum;
}

/* One call writes what becomes one folio; its first fault must be a store. */
static bool ready_huge(void)
{
	static char whole[PMD];

	memset(whole, FIRST, PMD);
	/* Reading has left small folios. */
	NEED(!ftruncate(fd, 0));
	NEED(pwrite(fd, whole, PMD, 0) == (ssize_t)PMD);
	NEED(!fsync(fd));
	mem[AT] = FIRST;
	NEED(mapped_huge() == PMD);
	return true;
}

static uint64_t read_entry(int from, uint64_t number)
{
	uint64_t entry = 0;

	if (pread(from, &entry, sizeof(entry), number * sizeof(entry)) != sizeof(entry))
		scene_says("an entry of /proc cannot be read: %m");
	return entry;
}

/* Its blocks are there, so that writeback needs no worker; it is dirty, and on an LRU list. */
static bool ready_kept(void)
{
	memset(block, FIRST, PAGE);
	NEED(pwrite(fd, block, PAGE, AT) == (ssize_t)PAGE);
	NEED(!fsync(fd));
	mem[AT] = FIRST;
	pfn = read_entry(pagemap, (uintptr_t)(mem + AT) / PAGE) & PFN_MASK;
	NEED(pfn);
	return true;
}

static bool ready(void)
{
	done = false;
	if (huge)
		return ready_huge();
	if (kept)
		return ready_kept();
	memset(mem, FIRST, PMD);
	return true;
}

static void warm(void)
{
	mem[AT] = FIRST;
}

static void discard(void)
{
	madvise(mem, PMD, MADV_DONTNEED);
}

static void reclaim(void)
{
	madvise(mem + AT, PAGE, MADV_PAGEOUT);
}

static void punch(void)
{
	done = !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, AT, PAGE);
}

static void truncate_it(void)
{
	done = !ftruncate(fd, AT) && !ftruncate(fd, PMD);
}

static void write_directly(void)
{
	done = pwrite(direct, block, PAGE, AT) == (ssize_t)PAGE;
}

static void store(void)
{
	done = !sync_file_range(fd, AT, PAGE,
				SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	memset(mem + AT, LAST, PAGE);
}

/* Without sleep: x86 flushes the TLB of a thread that goes on after the processor was idle. */
static void store_awake(void)
{
	done = !sync_file_range(fd, AT, PAGE, SYNC_FILE_RANGE_WRITE);
	while (read_entry(pageflags, pfn) & (1UL << KPF_WRITEBACK))
		;
	memset(mem + AT, LAST, PAGE);
}

/* What the page holds, from the page cache; -1: it has several bytes. */
static int content(void)
{
	static char page[PAGE];

	if (pread(fd, page, PAGE, AT) != (ssize_t)PAGE || memcmp(page, page + 1, PAGE - 1))
		return -1;
	return page[0];
}

static bool holds(int wanted)
{
	int found = content();

	if (!done)
		scene_says("the second processor's system call failed");
	if (found != wanted)
		scene_says("the page holds %d instead of %d", found, wanted);
	return done && found == wanted;
}

static bool is_gone(void)
{
	return holds(0);
}

static bool is_on_disk(void)
{
	/* A page that is mapped is not dropped from memory. */
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	NEED(!fsync(fd));
	NEED(!posix_fadvise(fd, 0, PMD, POSIX_FADV_DONTNEED));
	return holds(LAST);
}

static const struct {
	const char *name;
	void (*first)(void);
	void (*second)(void);
	bool (*right)(void);
} acts[] = {
	{ "punch", discard, punch, is_gone },
	{ "truncate", discard, truncate_it, is_gone },
	{ "direct", discard, write_directly, is_on_disk },
	{ "stored", discard, store, is_on_disk },
	{ "huge", discard, store, is_on_disk },
	{ "kept", reclaim, store_awake, is_on_disk },
};

int main(int argc, char **argv)
{
	struct scene scene = { .ready = ready, .warm = warm };

	for (size_t i = 0; argc > 2 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[2], acts[i].name)) {
			scene.first = acts[i].first;
			scene.second = acts[i].second;
			scene.right = acts[i].right;
		}
	huge = scene.first && !strcmp(argv[2], "huge");
	kept = scene.first && !strcmp(argv[2], "kept");
	if (!scene.second || !make(argv[3]))
		return 2;
	return scene_main(argc, argv, &scene);
}
