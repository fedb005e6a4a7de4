// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child splits memory that was moved, and that fork() has wiped; the kernel warns (CONFIG_DEBUG_VM).
 *
 *	wiped ROUNDS [control]
 *
 * control: fork() does not wipe it.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/scene.h"

#define LEN	(16 * PAGE)

static char *mem;
static bool control;

static bool ready(void)
{
	char *from = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *to = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(from != MAP_FAILED && to != MAP_FAILED);
	memset(from, 1, LEN);
	mem = mremap(from, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	NEED(mem == to);
	NEED(control || !madvise(mem, LEN, MADV_WIPEONFORK));
	return true;
}

static void split(void)
{
	pid_t child = fork();

	if (!child)
		_exit(munmap(mem + LEN / 4, LEN / 4));
	if (child < 0 || waitpid(child, NULL, 0) != child)
		scene_says("fork: %m");
}

static bool right(void)
{
	return !munmap(mem, LEN);
}

static const struct scene scene = { .ready = ready, .first = split, .right = right };

int main(int argc, char **argv)
{
	control = argc > 2;
	return scene_alone(argc, argv, &scene);
}
