// SPDX-License-Identifier: GPL-2.0-only
/*
 * A child has its parent's private hugetlb memory.
 *
 *	hugetlb_fork ROUNDS [control]
 *
 * The pool has one page of 1 GiB, so that a child which was not given the memory gets SIGBUS.  Many
 * VMAs go before each fork(): page tables are pages that were used.  control: a page of 2 MiB.
 *
 * Needs hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=1.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/scene.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif
#define GIB_SHIFT	30
#define PMD_SHIFT	21
#define VMAS		20000
#define FIRST		41

static char *mem, *many;
static bool control;
static int status;

static bool prepare(void)
{
	int shift = control ? PMD_SHIFT : GIB_SHIFT;

	mem = mmap(NULL, 1UL << shift, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | shift << MAP_HUGE_SHIFT, -1, 0);
	NEED(mem != MAP_FAILED);
	mem[0] = FIRST;
	many = mmap(NULL, 2 * VMAS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(many != MAP_FAILED);
	return true;
}

/* Each second pair of pages is a VMA of its own, and goes. */
static bool ready(void)
{
	for (size_t i = 0; i < VMAS; i += 2)
		NEED(!mprotect(many + 2 * i * PAGE, 2 * PAGE, PROT_READ));
	NEED(!mprotect(many, 2 * VMAS * PAGE, PROT_NONE));
	return true;
}

static void fork_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(*(volatile char *)mem != FIRST);
	status = -1;
	waitpid(pid, &status, 0);
}

static bool right(void)
{
	if (status)
		scene_says("the child ended with %#x", status);
	return !status;
}

int main(int argc, char **argv)
{
	const struct scene scene = {
		.prepare = prepare, .ready = ready, .first = fork_child, .right = right,
	};

	control = argc > 2;
	return scene_alone(argc, argv, &scene);
}
