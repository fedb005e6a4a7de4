// SPDX-License-Identifier: GPL-2.0-only
/* The memory that threads race in: see tables_race.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tables_arena.h"

static int backing(size_t len)
{
	int fd = memfd_create("unmap", MFD_CLOEXEC);

	return fd >= 0 && !ftruncate(fd, len) ? fd : -1;
}

static char *map_area(const struct arena *a)
{
	int flags = a->area == AREA_ANON ? MAP_PRIVATE | MAP_ANONYMOUS :
		    a->area == AREA_COPIED ? MAP_PRIVATE : MAP_SHARED;

	return map_aligned(LEN, PROT_READ | PROT_WRITE, flags, a->fd);
}

/* The second half of each table maps shmem: it may keep the table while pages move. */
static bool map_spare(struct arena *a)
{
	a->poke_fd = backing(LEN);
	a->spare = map_aligned(LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(a->poke_fd >= 0);
	CHECK(a->spare != MAP_FAILED);
	for (size_t at = PMD / 2; at < LEN; at += PMD)
		CHECK(mmap(a->spare + at, PMD / 2, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, a->poke_fd, at) == a->spare + at);
	return true;
}

static bool map_alias(struct arena *a)
{
	if (a->area != AREA_SHMEM)
		return true;
	a->alias = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd);
	a->alias_to = map_aligned(PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(a->alias != MAP_FAILED);
	CHECK(a->alias_to != MAP_FAILED);
	return true;
}

bool watch_arena(struct arena *a)
{
	bool missing = a->mode == UFFD_MISSING;

	a->uffd = uffd_watch(a->mem, LEN, UFFD_FEATURE_SIGBUS |
			     (missing ? UFFD_FEATURE_MOVE : UFFD_FEATURE_WP_HUGETLBFS_SHMEM),
			     missing ? UFFDIO_REGISTER_MODE_MISSING : UFFDIO_REGISTER_MODE_WP);
	return a->uffd >= 0;
}

bool make_arena(struct arena *a, enum area kind, enum uffd_mode mode)
{
	*a = (struct arena){ .area = kind, .mode = mode, .fd = -1, .uffd = -1 };
	if (kind != AREA_ANON)
		a->fd = backing(LEN);
	CHECK(kind == AREA_ANON || a->fd >= 0);
	a->mem = map_area(a);
	CHECK(a->mem != MAP_FAILED);
	CHECK(map_spare(a));
	CHECK(map_alias(a));
	CHECK(mode == UFFD_NONE || watch_arena(a));
	return true;
}

void drop_arena(struct arena *a)
{
	munmap(a->mem, LEN);
	munmap(a->spare, LEN);
	if (a->alias)
		munmap(a->alias, PMD);
	if (a->alias_to)
		munmap(a->alias_to, PMD);
	if (a->uffd >= 0)
		close(a->uffd);
	if (a->fd >= 0)
		close(a->fd);
	close(a->poke_fd);
}

void take_rest(const struct arena *a)
{
	while (READ_ONCE(a->rest))
		usleep(1000);
}

int pick_bit(unsigned int bits, unsigned int *seed)
{
	int skip = rand_r(seed) % __builtin_popcount(bits);

	while (skip--)
		bits &= bits - 1;
	return __builtin_ctz(bits);
}

void punch(int fd, off_t at, off_t len)
{
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len);
}
