// SPDX-License-Identifier: GPL-2.0-only
/*
 * mremap() moves memory, which is write-protected with userfaultfd, next to other such memory.  The
 * other memory must stay protected.
 *
 *	uffd_remap ROUNDS [control]
 *
 * control: it is moved elsewhere.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/scene.h"

#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED	(1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC		(1 << 15)
#endif
#define LEN	(16 * PAGE)
#define UFFD_WP	(1ULL << 57)	/* of an entry of pagemap */

static char *mem, *moved;
static bool control;
static int uffd;

static bool prepare(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_WP_UNPOPULATED | UFFD_FEATURE_WP_ASYNC,
	};

	mem = scene_map(PMD, -1);
	NEED(mem != MAP_FAILED);
	moved = mem + PMD / 2;
	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	NEED(uffd >= 0);
	NEED(!ioctl(uffd, UFFDIO_API, &api));
	return true;
}

static bool map(char *addr, size_t len, int prot)
{
	NEED(mmap(addr, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == addr);
	return true;
}

/* New memory that nobody has touched. */
static bool protect(char *addr)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)addr, LEN }, .mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect all = {
		.range = range.range, .mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	NEED(map(addr, LEN, PROT_READ | PROT_WRITE));
	NEED(!ioctl(uffd, UFFDIO_REGISTER, &range));
	NEED(!ioctl(uffd, UFFDIO_WRITEPROTECT, &all));
	return true;
}

static bool ready(void)
{
	return map(mem, PMD, PROT_NONE) && protect(mem) && protect(moved);
}

static void move(void)
{
	char *to = mem + LEN + (control ? PAGE : 0);

	if (mremap(moved, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		scene_says("mremap: %m");
}

/* Reading is no write: the protection stays. */
static bool right(void)
{
	bool found;

	(void)*(volatile char *)mem;
	found = scene_pagemap(mem) & UFFD_WP;
	if (!found)
		scene_says("the neighbour of what was moved is not write-protected");
	return found;
}

int main(int argc, char **argv)
{
	const struct scene scene = {
		.prepare = prepare, .ready = ready, .first = move, .right = right,
	};

	control = argc > 2;
	return scene_alone(argc, argv, &scene);
}
