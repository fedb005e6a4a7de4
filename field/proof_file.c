// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on a mapped file: see proof.h.
 *
 * A store into a shared mapping changes the file: read(2) finds it whatever happened to the
 * page since, unless a hole was punched.  In tmpfs, a store to a page that was read before
 * takes no fault: only its entry's dirty bit records it.  If that bit is lost, eviction
 * takes the page for clean and drops it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proof.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define DISK_PAUSE	200000	/* us */

struct file {
	struct team team;
	char *view;		/* another mapping of the file, for reading */
	int fd;
	bool disk, holes;
};

static void discard(struct file *file, struct range range)
{
	madvise(file->team.arena + range.first, range.end - range.first, MADV_DONTNEED);
}

static void discard_pages(struct file *file, struct range range)
{
	for (unsigned int i = 0; i < NR_PAGES; i++)
		if (in_range(&file->team.spots[i], range))
			madvise(file->team.arena + file->team.spots[i].offset, PAGE, MADV_DONTNEED);
}

static void evict(struct file *file, struct range range)
{
	madvise(file->team.arena + range.first, range.end - range.first, MADV_PAGEOUT);
}

static void punch(struct file *file, struct range range)
{
	if (!file->holes)
		return;
	begin_loss(&file->team, range);
	if (fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, range.first,
		      range.end - range.first)) {
		if (errno != EOPNOTSUPP)
			lacking("no hole could be punched: %s", strerror(errno));
		file->holes = false;
	}
	end_loss(&file->team, range);
}

static void replace(struct file *file, struct range range)
{
	char *start = file->team.arena + range.first;

	if (mmap(start, range.end - range.first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 file->fd, range.first) != start)
		lacking("cannot map the file: %s", strerror(errno));
}

/* Write the file to the disk and drop it from memory; with pauses, to spare the disk. */
static void write_back(struct file *file, struct range range)
{
	if (!file->disk)
		return;
	if (fdatasync(file->fd))
		lacking("cannot write to the disk: %s", strerror(errno));
	posix_fadvise(file->fd, range.first, range.end - range.first, POSIX_FADV_DONTNEED);
	usleep(DISK_PAUSE);
}

/* Check what read(2) finds in the file, word by word. */
static void check_file(struct file *file, struct range range, const char *after)
{
	struct team *team = &file->team;

	for (unsigned int i = 0; i < NR_PAGES; i++) {
		u64 least = least_number(&team->spots[i]);
		struct stamps stamps;

		if (!in_range(&team->spots[i], range))
			continue;
		for (unsigned int j = 0; j < NR_WORDS; j++)
			if (pread(file->fd, &stamps.word[j], sizeof(u64),
				  team->spots[i].offset + word_offset(j)) != sizeof(u64))
				lacking("the file cannot be read: %s", strerror(errno));
		check_stamps(team, i, &stamps, least, after);
	}
}

/*
 * Find lost dirty bits, while no writer stores: zap the entries, which must transfer their
 * dirty bits, map the pages read-only, and evict them.  Eviction drops pages that look clean.
 */
static void check_dirty_bits(struct file *file, struct range range)
{
	close_gate(&file->team);
	if (below(&file->team.random, 2))
		discard(file, range);
	else
		discard_pages(file, range);
	for (unsigned int i = 0; i < NR_PAGES; i++)
		if (in_range(&file->team.spots[i], range))
			READ_ONCE(file->view[file->team.spots[i].offset]);
	madvise(file->view + range.first, range.end - range.first, MADV_PAGEOUT);
	write_back(file, range);
	check_file(file, range, "MADV_DONTNEED and eviction without writers");
	open_gate(&file->team);
}

static const struct way {
	const char *name;
	void (*take)(struct file *file, struct range range);
} ways[] = {
	{ "a hole", punch },
	{ "a hole", punch },
	{ "MADV_DONTNEED", discard },
	{ "MADV_DONTNEED of single pages", discard_pages },
	{ "MADV_PAGEOUT", evict },
	{ "mmap() in its place", replace },
	{ "writing back", write_back },
	{ "the check of dirty bits", check_dirty_bits },
	{ "the check of dirty bits", check_dirty_bits },
};

static void take_and_check(struct file *file)
{
	struct team *team = &file->team;
	const struct way *way = &ways[below(&team->random, ARRAY_SIZE(ways))];
	struct range range = pick_range(team), all = { 0, ARENA };

	way->take(file, range);
	add(&account->takes, 1);
	await_stores(team, range);
	if (below(&team->random, 2))
		check_file(file, all, way->name);
	else
		check_arena(team, file->view, way->name);
}

static __noreturn void run_file(struct file *file, unsigned int number)
{
	if (ftruncate(file->fd, ARENA))
		lacking("no file of %lu MiB: %s", ARENA / MIB, strerror(errno));
	file->holes = true;
	file->team.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
	file->view = mmap(NULL, ARENA, PROT_READ, MAP_SHARED, file->fd, 0);
	if (file->team.arena == MAP_FAILED || file->view == MAP_FAILED)
		lacking("cannot map the file: %s", strerror(errno));
	start_team(&file->team, number);
	for (;;)
		take_and_check(file);
}

void run_tmpfs(unsigned int number)
{
	static struct file file;

	file.fd = memfd_create("swathe-proof", 0);
	if (file.fd < 0)
		lacking("no file in memory: %s", strerror(errno));
	run_file(&file, number);
}

void run_disk(unsigned int number)
{
	static struct file file = { .disk = true };
	char path[300];

	snprintf(path, sizeof(path), "%s/swathe-proof.XXXXXX", options.dir);
	file.fd = mkstemp(path);
	if (file.fd < 0)
		lacking("no file can be made in %s: %s", options.dir, strerror(errno));
	unlink(path);
	run_file(&file, number);
}
