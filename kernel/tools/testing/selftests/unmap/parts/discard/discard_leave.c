// SPDX-License-Identifier: GPL-2.0-only
/* Processes that write through a mapping and drop it; the files after unmount: see discard.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "discard.h"

static char *map_written(struct scene *scene)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, scene->fd);

	if (mem == MAP_FAILED || madvise(mem, LEN, MADV_POPULATE_READ))
		return NULL;
	fill(mem, LEN, OTHER);
	return mem;
}

static bool leave_discarded(struct scene *scene)
{
	char *mem = map_written(scene);

	return mem && discard_pages(mem, 0, PAGES);
}

static bool leave_unmapped(struct scene *scene)
{
	char *mem = map_written(scene);

	return mem && !munmap(mem, LEN);
}

static bool leave_by_exit(struct scene *scene)
{
	return map_written(scene);
}

bool (* const leave[NR_LEAVES])(struct scene *scene) = {
	leave_discarded, leave_unmapped, leave_by_exit,
};

long pages_cached(char *mem)
{
	unsigned char cached[PAGES];
	long found = 0;

	if (mincore(mem, LEN, cached))
		return -1;
	for (long i = 0; i < PAGES; i++)
		found += cached[i] & 1;
	return found;
}

void file_name(char path[32], size_t number)
{
	snprintf(path, 32, "/mnt/discard-%zu", number);
}

bool device_of(const char *dir, char device[64])
{
	char line[256], where[64];
	FILE *mounts = fopen("/proc/mounts", "r");
	bool found = false;

	while (mounts && !found && fgets(line, sizeof(line), mounts))
		found = sscanf(line, "%63s %63s", device, where) == 2 && !strcmp(where, dir);
	if (mounts)
		fclose(mounts);
	return found;
}

long wrong_in_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *mem = fd < 0 ? MAP_FAILED : mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);
	long wrong = PAGES;

	if (mem != MAP_FAILED && lseek(fd, 0, SEEK_END) == (off_t)LEN)
		wrong = count_wrong(mem, LEN, OTHER);
	if (mem != MAP_FAILED)
		munmap(mem, LEN);
	if (fd >= 0)
		close(fd);
	return wrong;
}
