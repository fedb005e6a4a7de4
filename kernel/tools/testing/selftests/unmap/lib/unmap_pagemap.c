// SPDX-License-Identifier: GPL-2.0-only
/* Page tables as /proc shows them: see unmap_util.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unmap_util.h"

#define BATCH	512

/* Words that cannot be read become zero, like empty entries. */
static void read_words(int fd, __u64 index, __u64 *words, size_t nr)
{
	ssize_t len = nr * sizeof(*words);

	if (fd < 0 || pread(fd, words, len, index * sizeof(*words)) != len)
		memset(words, 0, len);
}

static void read_proc(const char *path, __u64 index, __u64 *words, size_t nr)
{
	int fd = open(path, O_RDONLY);

	read_words(fd, index, words, nr);
	if (fd >= 0)
		close(fd);
}

void pagemap_range(const void *mem, __u64 *entries, size_t nr)
{
	read_proc("/proc/self/pagemap", (uintptr_t)mem / PAGE, entries, nr);
}

__u64 pagemap(const void *addr)
{
	__u64 entry;

	pagemap_range(addr, &entry, 1);
	return entry;
}

static __u64 of_page(const char *path, const void *addr)
{
	__u64 entry = pagemap(addr), word = 0;

	if (entry & PM_PRESENT)
		read_proc(path, PAGEMAP_PFN(entry), &word, 1);
	return word;
}

__u64 page_flags(const void *addr)
{
	return of_page("/proc/kpageflags", addr);
}

__u64 page_mapcount(const void *addr)
{
	return of_page("/proc/kpagecount", addr);
}

long count_shared(const char *mem, size_t len)
{
	long shared = 0;

	for (size_t at = 0; at < len; at += PAGE)
		shared += page_mapcount(mem + at) > 1;
	return shared;
}

long count_pages(const void *mem, size_t len, __u64 bits)
{
	__u64 entries[BATCH];
	long found = 0;

	for (size_t i = 0; i < len / PAGE; i++) {
		size_t left = len / PAGE - i;

		if (i % BATCH == 0)
			pagemap_range((const char *)mem + i * PAGE, entries,
				      left < BATCH ? left : BATCH);
		found += !!(entries[i % BATCH] & bits);
	}
	return found;
}

long smaps_kib(const void *mem, size_t len, const char *field)
{
	unsigned long first = (uintptr_t)mem, start, end;
	FILE *file = fopen("/proc/self/smaps", "r");
	bool within = false;
	char line[256];
	long sum = 0;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			within = start < first + len && end > first;
		else if (within && !strncmp(line, field, strlen(field)) &&
			 line[strlen(field)] == ':')
			sum += strtol(line + strlen(field) + 1, NULL, 10);
	}
	fclose(file);
	return sum;
}

/* Whether pages from @at on are of a folio whose first frame is @first: a head, then tails. */
static bool is_part(int kpageflags, const char *mem, __u64 first, size_t at, size_t nr)
{
	__u64 entries[BATCH], flags[BATCH];

	pagemap_range(mem + at * PAGE, entries, nr);
	read_words(kpageflags, first + at, flags, nr);
	for (size_t i = 0; i < nr; i++) {
		if (!(entries[i] & PM_PRESENT) || PAGEMAP_PFN(entries[i]) != first + at + i)
			return false;
		if (!(flags[i] & PAGE_TAIL) != !(at + i))
			return false;
	}
	return true;
}

/* Whether the pages are one folio. */
static bool is_folio(int kpageflags, const char *mem, size_t pages)
{
	__u64 first = PAGEMAP_PFN(pagemap(mem));
	bool right = true;

	for (size_t at = 0; right && at < pages; at += BATCH)
		right = is_part(kpageflags, mem, first, at,
				pages - at < BATCH ? pages - at : BATCH);
	return right;
}

bool folios_are(const void *mem, size_t len, unsigned long kib)
{
	int kpageflags = open("/proc/kpageflags", O_RDONLY);
	bool all = kpageflags >= 0;

	for (size_t i = 0; all && i < len; i += kib * KIB)
		all = is_folio(kpageflags, (const char *)mem + i, kib * KIB / PAGE);
	close(kpageflags);
	return all;
}

bool soft_dirty_works(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	bool set, cleared;

	if (page == MAP_FAILED)
		return false;
	write_text("/proc/self/clear_refs", "4");
	cleared = !(pagemap(page) & PM_SOFT_DIRTY);
	*page = 1;
	set = pagemap(page) & PM_SOFT_DIRTY;
	munmap(page, PAGE);
	return cleared && set;
}
