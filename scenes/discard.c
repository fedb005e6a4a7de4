// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor discards shared memory that was written to; the second one takes a page out
 * of the file, or has it written back and stores to it, through an old TLB entry.
 *
 *	discard ROUNDS punch|truncate|direct|stored [FILE]
 *
 * Without a file: shared memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define AT	(PMD - PAGE)	/* the page that is acted on */
#define FIRST	41
#define LAST	43

static char *mem, *block;
static int fd = -1, direct = -1;
static bool done;

static bool make(const char *path)
{
	fd = path ? open(path, O_RDWR | O_CREAT, 0644) : memfd_create("discard", MFD_CLOEXEC);
	NEED(fd >= 0);
	NEED(!ftruncate(fd, PMD));
	mem = scene_map(PMD, fd);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	NEED(!posix_memalign((void **)&block, PAGE, PAGE));
	memset(block, LAST, PAGE);
	if (path)
		direct = open(path, O_RDWR | O_DIRECT);
	NEED(!path || direct >= 0);
	return true;
}

static bool ready(void)
{
	done = false;
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
	void (*second)(void);
	bool (*right)(void);
} acts[] = {
	{ "punch", punch, is_gone },
	{ "truncate", truncate_it, is_gone },
	{ "direct", write_directly, is_on_disk },
	{ "stored", store, is_on_disk },
};

int main(int argc, char **argv)
{
	struct scene scene = { .ready = ready, .warm = warm, .first = discard };

	for (size_t i = 0; argc > 2 && i < sizeof(acts) / sizeof(acts[0]); i++)
		if (!strcmp(argv[2], acts[i].name)) {
			scene.second = acts[i].second;
			scene.right = acts[i].right;
		}
	if (!scene.second || !make(argv[3]))
		return 2;
	return scene_main(argc, argv, &scene);
}
