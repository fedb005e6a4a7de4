// SPDX-License-Identifier: GPL-2.0-only
/*
 * ptetables CASE: page tables (VmPTE) that stay behind when all pages are gone.
 *
 * One page of each 2 MiB is touched, of each 1 MiB in dontneed-unaligned.
 *
 * dontneed-2M:        touch 2 MiB, MADV_DONTNEED them, on and on for 8 GiB (--full:
 *                     50 GiB): the thread's loop, measured with its touching
 * dontneed-64K:       8 GiB, MADV_DONTNEED 64 KiB at a time
 * dontneed-unaligned: 8 GiB, MADV_DONTNEED 2 MiB at a time, shifted by 1 MiB
 * lazyfree:           1 GiB of MADV_FREE, then MADV_PAGEOUT
 * punch-hole:         1 GiB of shared memory, fallocate() punches it all out
 * truncate:           1 GiB of shared memory, ftruncate() to nothing
 * dontunmap:          1 GiB, mremap(MREMAP_DONTUNMAP) by an odd number of MiB
 * uffd-move:          1 GiB, UFFDIO_MOVE to elsewhere
 * file-pageout:       1 GiB of a file on XFS, MADV_PAGEOUT
 * fork-exit:          8 GiB emptied by MADV_DONTNEED, then fork() and exit of a child;
 *                     vmpte_after is what the child inherits
 *
 * vmpte_before is taken before the range is touched.  In dontunmap and uffd-move the
 * pages still are somewhere: vmpte_after is then the tables of both places.
 *
 * After: the range has no page, and reads as it should.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "datafile.h"
#include "workload.h"

#define TABLE	(2 * MIB)
#define PIECE	(64UL << 10)
#define FILE_PATH	"/mnt/ptetables.data"

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

/* What a case works on; prepare and call get it, the checks at the end read it. */
struct range {
	char *mem;
	size_t len;
	size_t step;	/* between touched pages */
	char *there;	/* where the pages went, if they live on */
	int fd;		/* what is mapped, or moves the pages */
	u64 after;	/* VmPTE, if not this process's own after the call */
};

static u64 vmpte(void)
{
	return read_field("/proc/self/status", "VmPTE:");
}

static void touch(struct range *r)
{
	for (size_t i = 0; i < r->len; i += r->step)
		r->mem[i] = 1;
}

static void check_gone(const struct range *r)
{
	for (size_t i = 0; i < r->len; i += r->step)
		if (count_entries(r->mem + i, PAGE))
			fail("page %zu is still there", i / PAGE);
}

static void check_bytes(const struct range *r, const char *mem, char byte)
{
	for (size_t i = 0; i < r->len; i += r->step)
		if (mem[i] != byte)
			fail("page %zu reads as %d, expected %d", i / PAGE, mem[i], byte);
}

static void touch_and_zap(struct range *r)
{
	for (size_t i = 0; i < r->len; i += TABLE) {
		r->mem[i] = 1;
		advise(r->mem + i, TABLE, MADV_DONTNEED);
	}
}

static void zap_pieces(struct range *r)
{
	for (size_t i = 0; i < r->len; i += PIECE)
		advise(r->mem + i, PIECE, MADV_DONTNEED);
}

static void zap_shifted(struct range *r)
{
	advise(r->mem, MIB, MADV_DONTNEED);
	for (size_t i = MIB; i + TABLE < r->len; i += TABLE)
		advise(r->mem + i, TABLE, MADV_DONTNEED);
	advise(r->mem + r->len - MIB, MIB, MADV_DONTNEED);
}

static void make_lazyfree(struct range *r)
{
	touch(r);
	advise(r->mem, r->len, MADV_FREE);
}

static void page_out(struct range *r)
{
	advise(r->mem, r->len, MADV_PAGEOUT);
}

static void make_shared(struct range *r)
{
	r->fd = memfd_create("ptetables", 0);
	if (r->fd < 0 || ftruncate(r->fd, r->len))
		fail("cannot make shared memory: %s", strerror(errno));
	r->mem = mmap(r->mem, r->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd, 0);
	if (r->mem == MAP_FAILED)
		fail("cannot map shared memory: %s", strerror(errno));
	touch(r);
}

static void punch_hole(struct range *r)
{
	if (fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, r->len))
		fail("fallocate failed: %s", strerror(errno));
}

static void truncate_all(struct range *r)
{
	if (ftruncate(r->fd, 0))
		fail("ftruncate failed: %s", strerror(errno));
}

static void make_target(struct range *r)
{
	r->there = map_anon(r->len + TABLE) + MIB;
	touch(r);
}

static void move_mapping(struct range *r)
{
	const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

	if (mremap(r->mem, r->len, r->len, flags, r->there) == MAP_FAILED)
		fail("mremap failed: %s", strerror(errno));
}

/* A userfaultfd that watches where pages are to go. */
static void watch_target(struct range *r)
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

static void move_pages(struct range *r)
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

static void make_holes(struct range *r)
{
	r->fd = open(FILE_PATH, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (r->fd < 0 || ftruncate(r->fd, r->len))
		skip("cannot make " FILE_PATH ": %s", strerror(errno));
	unlink(FILE_PATH);
	r->mem = map_file(r->fd, r->len, MAP_SHARED);
	advise(r->mem, r->len, MADV_RANDOM);
	check_bytes(r, r->mem, 0);
}

static pid_t fork_prepared(void)
{
	pid_t pid = fork();

	if (!pid) {
		child_prepared();
		_exit(0);
	}
	await_child(pid);
	return pid;
}

/* Empty tables to inherit, and what a first child inherits of them. */
static void make_emptied(struct range *r)
{
	char path[40];
	pid_t pid;

	touch(r);
	advise(r->mem, r->len, MADV_DONTNEED);
	pid = fork_prepared();
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	r->after = read_field(path, "VmPTE:");
	release_child(pid);
	bury_child(pid);
}

static void fork_and_exit(struct range *r)
{
	pid_t pid = fork_prepared();

	(void)r;
	release_child(pid);
	bury_child(pid);
}

static const struct row {
	const char *name;
	size_t gib;
	size_t step;
	void (*prepare)(struct range *r);
	void (*call)(struct range *r);
} rows[] = {
	{ "dontneed-2M", 8, TABLE, NULL, touch_and_zap },
	{ "dontneed-64K", 8, TABLE, touch, zap_pieces },
	{ "dontneed-unaligned", 8, MIB, touch, zap_shifted },
	{ "lazyfree", 1, TABLE, make_lazyfree, page_out },
	{ "punch-hole", 1, TABLE, make_shared, punch_hole },
	{ "truncate", 1, TABLE, make_shared, truncate_all },
	{ "dontunmap", 1, TABLE, make_target, move_mapping },
	{ "uffd-move", 1, TABLE, watch_target, move_pages },
	{ "file-pageout", 1, TABLE, make_holes, page_out },
	{ "fork-exit", 8, TABLE, make_emptied, fork_and_exit },
};

static const struct row *find_row(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	fail("unknown case %s: expected dontneed-2M to fork-exit", name);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "ptetables CASE [--full]");
	const struct row *row = find_row(req.name);
	u64 before = vmpte(), after, instructions;
	struct range r = { .len = row->gib * GIB, .step = row->step, .fd = -1 };

	thp_only(4);
	if (req.full && row == rows)
		r.len = 50 * GIB;
	r.mem = map_anon(r.len);
	if (row->prepare)
		row->prepare(&r);
	instructions = measure_begin();
	row->call(&r);
	instructions = measure_end(instructions);
	after = r.after ? r.after : vmpte();

	if (row->call == truncate_all && ftruncate(r.fd, r.len))
		fail("ftruncate failed: %s", strerror(errno));
	check_gone(&r);
	check_bytes(&r, r.mem, 0);
	if (r.there)
		check_bytes(&r, r.there, 1);

	metric("instructions", instructions, "instructions");
	metric("pages", r.len / r.step, "pages");
	metric("vmpte_before", before, "kB");
	metric("vmpte_after", after, "kB");
	return 0;
}
