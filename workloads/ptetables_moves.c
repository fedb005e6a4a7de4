// SPDX-License-Identifier: GPL-2.0-only
/* Calls that move pages and leave their tables behind: see ptetables.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ptetables.h"

#ifndef UFFDIO_MOVE	/* Linux 6.8 */
#define UFFD_FEATURE_MOVE	BIT(16)
#define UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES	BIT(1)
#define UFFDIO_MOVE	_IOWR(UFFDIO, 0x05, struct uffdio_move)
struct uffdio_move {
	__u64 dst;
	__u64 src;
	__u64 len;
	__u64 mode;
	__s64 move;
};
#endif

void make_target(struct range *r)
{
	r->there = map_anon(r->len + TABLE) + MIB;
	touch(r);
}

void move_mapping(struct range *r)
{
	const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

	if (mremap(r->mem, r->len, r->len, flags, r->there) == MAP_FAILED)
		fail("mremap failed: %s", strerror(errno));
}

/* Register the target of the move with userfaultfd. */
void watch_target(struct range *r)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_MOVE };
	struct uffdio_register target = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	make_target(r);
	r->fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (r->fd < 0)
		skip("no userfaultfd: %s", strerror(errno));
	if (ioctl(r->fd, UFFDIO_API, &api))
		skip("userfaultfd cannot move pages: %s", strerror(errno));
	target.range.start = (uintptr_t)r->there;
	target.range.len = r->len;
	if (ioctl(r->fd, UFFDIO_REGISTER, &target))
		fail("UFFDIO_REGISTER failed: %s", strerror(errno));
}

void move_by_userfault(struct range *r)
{
	struct uffdio_move move = {
		.dst = (uintptr_t)r->there,
		.src = (uintptr_t)r->mem,
		.len = r->len,
		.mode = UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES,
	};

	if (ioctl(r->fd, UFFDIO_MOVE, &move))
		fail("UFFDIO_MOVE failed: %s", strerror(errno));
}
