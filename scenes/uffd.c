// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor has userfaultfd fill, move or protect memory that has no page table yet; the
 * second one purges the memory, so that the new table is empty, and may be given back.
 *
 *	uffd ROUNDS copy|move|move_late|move_swap|protect
 *
 * All moves but the first: the purge comes first for certain, so that the page must be there then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/scene.h"

#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED	(1 << 13)
#endif
#ifndef UFFDIO_MOVE
#define UFFD_FEATURE_MOVE		(1 << 16)
#define UFFDIO_MOVE			_IOWR(UFFDIO, 0x05, struct uffdio_move)
struct uffdio_move {
	__u64 dst, src, len, mode;
	__s64 move;
};
#endif
#define AT		7UL	/* the page that is filled */
#define UFFD_WP		57	/* pagemap's bits */
#define SWAPPED		62
#define PRESENT		63

static char *mem, *from;
static int uffd, shmem = -1, pagemap, error;

static bool watch(uint64_t features, uint64_t mode)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register range = {
		.range = { (uintptr_t)mem, PMD }, .mode = mode,
	};

	pagemap = open("/proc/self/pagemap", O_RDONLY);
	NEED(pagemap >= 0);
	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	NEED(uffd >= 0);
	NEED(!ioctl(uffd, UFFDIO_API, &api));
	NEED(!ioctl(uffd, UFFDIO_REGISTER, &range));
	return true;
}

static bool prepare_private(void)
{
	mem = scene_map(PMD, -1);
	from = scene_map(PMD, -1);
	NEED(mem != MAP_FAILED && from != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE) && !madvise(from, PMD, MADV_NOHUGEPAGE));
	return true;
}

static bool prepare_copy(void)
{
	return prepare_private() && watch(0, UFFDIO_REGISTER_MODE_MISSING);
}

static bool prepare_move(void)
{
	return prepare_private() && watch(UFFD_FEATURE_MOVE, UFFDIO_REGISTER_MODE_MISSING);
}

static bool prepare_protect(void)
{
	static char page[PAGE] = { 1 };

	shmem = memfd_create("uffd", MFD_CLOEXEC);
	NEED(shmem >= 0 && !ftruncate(shmem, PMD));
	for (unsigned long i = 0; i < PMD / PAGE; i++)
		NEED(pwrite(shmem, page, PAGE, i * PAGE) == (ssize_t)PAGE);
	mem = scene_map(PMD, shmem);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	return watch(UFFD_FEATURE_WP_UNPOPULATED, UFFDIO_REGISTER_MODE_WP);
}

static bool has_bit(unsigned long page, unsigned int bit)
{
	uint64_t entry = 0;

	pread(pagemap, &entry, sizeof(entry), ((uintptr_t)mem / PAGE + page) * sizeof(entry));
	return entry >> bit & 1;
}

static void protect_all(uint64_t mode)
{
	struct uffdio_writeprotect all = { .range = { (uintptr_t)mem, PMD }, .mode = mode };

	error = ioctl(uffd, UFFDIO_WRITEPROTECT, &all) ? errno : 0;
}

/* Without a page table. */
static bool ready(void)
{
	if (shmem >= 0)
		protect_all(0);
	else
		from[0] = 1;
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	return true;
}

static bool ready_swapped(void)
{
	NEED(ready());
	NEED(!madvise(from, PAGE, MADV_PAGEOUT));
	return true;
}

static void copy(void)
{
	struct uffdio_copy page = {
		.dst = (uintptr_t)mem + AT * PAGE, .src = (uintptr_t)from, .len = PAGE,
	};

	error = ioctl(uffd, UFFDIO_COPY, &page) ? errno : 0;
}

static void move(void)
{
	struct uffdio_move page = {
		.dst = (uintptr_t)mem + AT * PAGE, .src = (uintptr_t)from, .len = PAGE,
	};

	error = ioctl(uffd, UFFDIO_MOVE, &page) ? errno : 0;
}

static void protect(void)
{
	protect_all(UFFDIO_WRITEPROTECT_MODE_WP);
}

static void purge(void)
{
	madvise(mem, PMD, MADV_DONTNEED);
}

static bool succeeded(void)
{
	if (error)
		scene_says("the ioctl failed: %s", strerror(error));
	return !error;
}

/* A touch would wait for userfaultfd. */
static bool is_filled(void)
{
	bool filled = has_bit(AT, PRESENT) || has_bit(AT, SWAPPED);

	if (!filled)
		scene_says("the page is not there");
	return succeeded() && filled;
}

/* Markers of memory that is not there yet survive a purge. */
static bool all_protected(void)
{
	unsigned long found = 0;

	for (unsigned long i = 0; i < PMD / PAGE; i++)
		found += has_bit(i, UFFD_WP);
	if (found != PMD / PAGE)
		scene_says("UFFDIO_WRITEPROTECT returned 0, and protected %lu of %lu pages",
			   found, PMD / PAGE);
	return succeeded() && found == PMD / PAGE;
}

static const struct {
	const char *name;
	struct scene scene;
} acts[] = {
	{ "copy", { prepare_copy, ready, NULL, copy, purge, succeeded } },
	{ "move", { prepare_move, ready, NULL, move, purge, succeeded } },
	{ "move_late", { prepare_move, ready, NULL, move, purge, is_filled } },
	{ "move_swap", { prepare_move, ready_swapped, NULL, move, purge, is_filled } },
	{ "protect", { prepare_protect, ready, NULL, protect, purge, all_protected } },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[2], acts[i].name))
			return scene_main(argc, argv, &acts[i].scene);
	return 2;
}
