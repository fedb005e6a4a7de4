// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child gives memory back that it shares with its parent since fork(); the parent, which never
 * gave it back, must keep it.
 *
 *	lazyfree_fork ROUNDS [control]
 *
 * The pages come from swap before, and are not written.  control: the child does not give them
 * back.
 *
 * Needs swap on a device without queues, such as zram.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/scene.h"

#define LEN	(64 * PAGE)
#define FIRST	41

static char *mem;
static bool control;

static long count_lost(void)
{
	long lost = 0;

	for (size_t i = 0; i < LEN; i += PAGE)
		lost += *(volatile char *)(mem + i) != FIRST;
	return lost;
}

static bool prepare(void)
{
	mem = scene_map(LEN, -1);
	NEED(mem != MAP_FAILED);
	NEED(!madvise(mem, LEN, MADV_NOHUGEPAGE));
	return true;
}

static bool ready(void)
{
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	memset(mem, FIRST, LEN);
	NEED(!madvise(mem, LEN, MADV_PAGEOUT));
	NEED(!count_lost());
	return true;
}

static void free_in_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(!control && madvise(mem, LEN, MADV_FREE));
	waitpid(pid, NULL, 0);
	if (madvise(mem, LEN, MADV_PAGEOUT))
		scene_says("MADV_PAGEOUT: %m");
}

static bool right(void)
{
	long lost = count_lost();

	if (lost)
		scene_says("%ld of %lu pages of the parent were lost", lost, LEN / PAGE);
	return !lost;
}

int main(int argc, char **argv)
{
	const struct scene scene = {
		.prepare = prepare, .ready = ready, .first = free_in_child, .right = right,
	};

	control = argc > 2;
	return scene_alone(argc, argv, &scene);
}
