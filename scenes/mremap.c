// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor moves memory, runs out of memory half way, and moves back what it has moved.
 * The second one punches a hole in a file meanwhile, of which a page is all that is left in a table
 * which the first one moves back to.  All pages must be there in the end.
 *
 *	mremap ROUNDS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define FAIL	"/sys/kernel/debug/fail_page_alloc/"
#define EDGE	4UL			/* pages in the first table, beside the file's */
#define TABLES	8UL
#define LEN	(EDGE * PAGE + (TABLES - 1) * PMD)
#define FIRST	41

static char *shared, *from, *room;
static void *moved;
static int fd, fail = -1;

/* Of this thread's allocations of pages, all fail but the first few. */
static bool prepare_failures(void)
{
	NEED(scene_write(FAIL "task-filter", "Y"));
	NEED(scene_write(FAIL "ignore-gfp-wait", "N"));
	NEED(scene_write(FAIL "min-order", "0"));
	NEED(scene_write(FAIL "probability", "100"));
	NEED(scene_write(FAIL "times", "-1"));
	NEED(scene_write(FAIL "verbose", "0"));
	fail = open("/proc/thread-self/make-it-fail", O_WRONLY);
	NEED(fail >= 0);
	return true;
}

static bool set_failing(bool on)
{
	return pwrite(fail, on ? "1" : "0", 1, 0) == 1;
}

static bool prepare(void)
{
	char *mem = scene_map(TABLES * PMD, -1);

	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, TABLES * PMD, MADV_NOHUGEPAGE));
	room = scene_map(TABLES * PMD, -1);
	NEED(room != MAP_FAILED);
	fd = memfd_create("mremap", MFD_CLOEXEC);
	NEED(fd >= 0 && !ftruncate(fd, PAGE));
	shared = mmap(mem, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	NEED(shared == mem);
	from = mem + PMD - EDGE * PAGE;
	return prepare_failures();
}

/* The pages of the first table, and then one of each other table. */
static char *page_of(unsigned long i)
{
	return from + (i < EDGE ? i * PAGE : EDGE * PAGE + (i - EDGE) * PMD);
}

static bool ready(void)
{
	/* It stays clean: a dirty one is flushed first, and the flush waits for the first processor. */
	(void)*(volatile char *)shared;
	for (unsigned long i = 0; i < EDGE + TABLES - 1; i++)
		*page_of(i) = FIRST + i;
	/* Where it goes, too, there are no tables yet. */
	NEED(room == mmap(room, TABLES * PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			  -1, 0));
	NEED(scene_write(FAIL "space", "4"));
	return true;
}

static void move(void)
{
	if (!set_failing(true))
		scene_says("make-it-fail: %m");
	/* Its alignment differs: entries are moved, not tables. */
	moved = mremap(from, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, room + PAGE);
	set_failing(false);
}

static void punch(void)
{
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE);
}

static bool all_there(void)
{
	bool right = moved == MAP_FAILED;

	if (!right)
		scene_says("mremap() did not fail");
	for (unsigned long i = 0; right && i < EDGE + TABLES - 1; i++)
		if (*page_of(i) != (char)(FIRST + i)) {
			scene_says("page %lu was lost", i);
			right = false;
		}
	return right;
}

int main(int argc, char **argv)
{
	const struct scene scene = { prepare, ready, NULL, move, punch, all_there };

	return scene_main(argc, argv, &scene);
}
