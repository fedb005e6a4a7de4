// SPDX-License-Identifier: GPL-2.0-only
/* What owners do to their pages: see tables_race.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tables_arena.h"

static char *slot_at(const struct owner *o, int slot)
{
	long page = slot / PER_TABLE * TABLE_PAGES +
		    slot % PER_TABLE * (TABLE_PAGES / PER_TABLE) + 1 + o->index * STRIDE;

	return o->arena->mem + page * PAGE;
}

/* Where the owner moves its page to: it moves only one of each table at a time. */
static char *spare_at(const struct owner *o, int slot)
{
	return o->arena->spare + slot / PER_TABLE * PMD + (1 + o->index) * PAGE;
}

/* If the memory is a file's, this page keeps the table until OTHER_EMPTY punches it. */
static void fill_unowned(const struct owner *o, int slot)
{
	READ_ONCE(o->arena->mem[slot / PER_TABLE * PMD + UNOWNED + o->index * PAGE]);
	WRITE_ONCE(o->arena->filled, slot / PER_TABLE);
}

/* The same in the table that the owner moves its page to. */
static void fill_spare(const struct owner *o, int slot)
{
	WRITE_ONCE(spare_at(o, slot)[PMD / 2 + POKES * PAGE], 1);
	WRITE_ONCE(o->arena->filled, slot / PER_TABLE);
}

static bool is_there(const struct owner *o, int slot)
{
	return o->arena->mode != UFFD_MISSING || o->stamp[slot];
}

static void blame(struct owner *o, int slot, const char *what, unsigned long seen)
{
	if (!o->wrong++)
		printf("# %s: owner %d, slot %d: %lx instead of %lx, seed %u, round %ld\n",
		       what, o->index, slot, seen, o->stamp[slot], o->seed, o->rounds);
}

static void expect_at(struct owner *o, int slot, const char *at, const char *what)
{
	const unsigned long *first = (const unsigned long *)at;
	const unsigned long *last = (const unsigned long *)(at + PAGE) - 1;
	unsigned long seen = READ_ONCE(*first);

	if (seen == o->stamp[slot])
		seen = READ_ONCE(*last);
	if (seen != o->stamp[slot])
		blame(o, slot, what, seen);
}

static void expect(struct owner *o, int slot, const char *what)
{
	if (is_there(o, slot))
		expect_at(o, slot, slot_at(o, slot), what);
}

static void put_stamp(char *at, unsigned long stamp)
{
	WRITE_ONCE(((unsigned long *)at)[0], stamp);
	WRITE_ONCE(((unsigned long *)(at + PAGE))[-1], stamp);
}

static unsigned long next_stamp(struct owner *o)
{
	return (unsigned long)(o->index + 1) << 48 | ++o->count;
}

static bool may_be_busy(unsigned long request)
{
	return request == UFFDIO_MOVE && (errno == EAGAIN || errno == EBUSY);
}

/* UFFDIO_MOVE fails if another thread holds the page, or changes the tables. */
static bool uffd_fill(struct owner *o, int slot, const char *from, unsigned long request)
{
	struct uffdio_copy copy;
	int tries = 0;

	do {
		copy = (struct uffdio_copy){
			.dst = (uintptr_t)slot_at(o, slot), .src = (uintptr_t)from, .len = PAGE
		};
		if (!ioctl(o->arena->uffd, request, &copy))
			return true;
	} while (may_be_busy(request) && ++tries < 1000);
	return false;
}

static char *new_spare(struct owner *o, int slot, int prot)
{
	return mmap(spare_at(o, slot), PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0);
}

/* Fill a missing page by UFFDIO_COPY, or by UFFDIO_MOVE of a new page. */
static void fill_missing(struct owner *o, int slot, bool move)
{
	unsigned long request = move ? UFFDIO_MOVE : UFFDIO_COPY;
	unsigned long stamp = next_stamp(o);
	char *from = new_spare(o, slot, PROT_READ | PROT_WRITE);

	put_stamp(from, stamp);
	if (uffd_fill(o, slot, from, request))
		o->stamp[slot] = stamp;
	else if (!may_be_busy(request))
		blame(o, slot, "cannot be filled", errno);
	new_spare(o, slot, PROT_NONE);
}

static void own_write(struct owner *o, int slot)
{
	if (!is_there(o, slot)) {
		fill_missing(o, slot, false);
		return;
	}
	o->stamp[slot] = next_stamp(o);
	put_stamp(slot_at(o, slot), o->stamp[slot]);
}

static void own_move_in(struct owner *o, int slot)
{
	if (!is_there(o, slot))
		fill_missing(o, slot, true);
}

static void own_dontneed(struct owner *o, int slot)
{
	if (madvise(slot_at(o, slot), PAGE, MADV_DONTNEED))
		blame(o, slot, "MADV_DONTNEED", errno);
	else if (o->arena->area != AREA_SHMEM)
		o->stamp[slot] = 0;
}

static void own_punch(struct owner *o, int slot)
{
	if (o->arena->area != AREA_SHMEM) {
		own_dontneed(o, slot);
		return;
	}
	punch(o->arena->fd, slot_at(o, slot) - o->arena->mem, PAGE);
	o->stamp[slot] = 0;
}

static void own_pageout(struct owner *o, int slot)
{
	madvise(slot_at(o, slot), PAGE, MADV_PAGEOUT);
}

static void own_free(struct owner *o, int slot)
{
	unsigned long seen;

	if (o->arena->area != AREA_ANON || !is_there(o, slot))
		return;
	madvise(slot_at(o, slot), PAGE, MADV_FREE);
	madvise(slot_at(o, slot), PAGE, MADV_PAGEOUT);
	/* Reclaim may free the page until this write; then the page must stay as it is. */
	WRITE_ONCE(slot_at(o, slot)[64], 0);
	seen = READ_ONCE(*(unsigned long *)slot_at(o, slot));
	if (!seen)
		o->stamp[slot] = 0;
}

static void own_protect(struct owner *o, int slot)
{
	mprotect(slot_at(o, slot), PAGE, PROT_READ);
	expect(o, slot, "read-only");
	mprotect(slot_at(o, slot), PAGE, PROT_READ | PROT_WRITE);
}

static void own_readv(struct owner *o, int slot)
{
	static __thread unsigned long page[PAGE / sizeof(unsigned long)];
	struct iovec to = { .iov_base = page, .iov_len = PAGE };
	struct iovec from = { .iov_base = slot_at(o, slot), .iov_len = PAGE };

	if (!is_there(o, slot))
		return;
	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)PAGE)
		expect_at(o, slot, (char *)page, "process_vm_readv");
	else if (errno == EFAULT)
		blame(o, slot, "process_vm_readv", errno);
}

static void own_splice(struct owner *o, int slot)
{
	static __thread unsigned long page[PAGE / sizeof(unsigned long)];
	struct iovec iov = { .iov_base = slot_at(o, slot), .iov_len = PAGE };

	if (!is_there(o, slot))
		return;
	if (vmsplice(o->pipe[1], &iov, 1, 0) == (ssize_t)PAGE &&
	    read(o->pipe[0], page, PAGE) == (ssize_t)PAGE)
		expect_at(o, slot, (char *)page, "vmsplice");
	else
		blame(o, slot, "vmsplice", errno);
}

static void move_page(struct owner *o, int slot, char *from, char *to, int flags)
{
	flags |= MREMAP_MAYMOVE | MREMAP_FIXED;
	if (mremap(from, PAGE, PAGE, flags, to) != to)
		blame(o, slot, "mremap", errno);
}

static void own_move(struct owner *o, int slot)
{
	char *at = slot_at(o, slot), *to = spare_at(o, slot);

	fill_spare(o, slot);
	move_page(o, slot, at, to, 0);
	expect_at(o, slot, to, "moved");
	move_page(o, slot, to, at, 0);
	new_spare(o, slot, PROT_NONE);
}

/* Map the page at @at again, which no thread owns: moving over it has replaced it. */
static void mend(struct owner *o, char *at)
{
	int flags = o->arena->area == AREA_SHMEM ? MAP_SHARED : MAP_PRIVATE;

	flags |= MAP_FIXED | (o->arena->area == AREA_ANON ? MAP_ANONYMOUS : 0);
	mmap(at, PAGE, PROT_READ | PROT_WRITE, flags, o->arena->fd,
	     o->arena->fd < 0 ? 0 : at - o->arena->mem);
}

static void own_move_near(struct owner *o, int slot)
{
	char *at = slot_at(o, slot), *to = at + PAGE;

	move_page(o, slot, at, to, 0);
	expect_at(o, slot, to, "moved near");
	move_page(o, slot, to, at, 0);
	mend(o, to);
}

static void own_dontunmap(struct owner *o, int slot)
{
	char *at = slot_at(o, slot), *to = spare_at(o, slot);

	if (o->arena->area != AREA_ANON) {
		own_move(o, slot);
		return;
	}
	fill_spare(o, slot);
	move_page(o, slot, at, to, MREMAP_DONTUNMAP);
	expect_at(o, slot, to, "moved, not unmapped");
	if (READ_ONCE(*(unsigned long *)at))
		blame(o, slot, "not empty", READ_ONCE(*(unsigned long *)at));
	move_page(o, slot, to, at, 0);
	new_spare(o, slot, PROT_NONE);
}

static void own_fork(struct owner *o, int slot)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		o->wrong = 0;
		for (slot = 0; slot < NR_SLOTS; slot++)
			expect(o, slot, "child");
		fflush(stdout);
		_exit(!!o->wrong);
	}
	if (child > 0 && waitpid(child, &status, 0) == child && status)
		blame(o, slot, "child's", status);
}

static void expect_marked(struct owner *o, int slot, bool on)
{
	if (!(pagemap(slot_at(o, slot)) & PM_UFFD_WP) == on)
		blame(o, slot, on ? "no marker" : "marker", on);
}

static void own_wp(struct owner *o, int slot)
{
	char *at = slot_at(o, slot);

	if (o->arena->mode != UFFD_WP)
		return;
	if (rand_r(&o->seed) % 2)
		own_punch(o, slot);
	fill_unowned(o, slot);
	if (!uffd_protect(o->arena->uffd, at, PAGE, true))
		return;
	expect_marked(o, slot, true);
	madvise(at, PAGE, rand_r(&o->seed) % 2 ? MADV_DONTNEED : MADV_PAGEOUT);
	expect_marked(o, slot, true);
	expect(o, slot, "protected");
	while (!uffd_protect(o->arena->uffd, at, PAGE, false))
		;
	expect_marked(o, slot, false);
}

static void (* const own_ops[NR_OWN])(struct owner *o, int slot) = {
	[OWN_WRITE]	= own_write,
	[OWN_DONTNEED]	= own_dontneed,
	[OWN_PUNCH]	= own_punch,
	[OWN_PAGEOUT]	= own_pageout,
	[OWN_FREE]	= own_free,
	[OWN_PROTECT]	= own_protect,
	[OWN_READV]	= own_readv,
	[OWN_SPLICE]	= own_splice,
	[OWN_MOVE]	= own_move,
	[OWN_MOVE_NEAR]	= own_move_near,
	[OWN_DONTUNMAP]	= own_dontunmap,
	[OWN_FORK]	= own_fork,
	[OWN_WP]	= own_wp,
	[OWN_MOVE_IN]	= own_move_in,
};

/* Drop most pages soon after they were written, so that tables become empty often. */
static void own_step(struct owner *o)
{
	int slot = rand_r(&o->seed) % NR_SLOTS;

	expect(o, slot, "found");
	own_ops[pick_bit(o->race->own, &o->seed)](o, slot);
	expect(o, slot, "after");
	if (rand_r(&o->seed) % 4)
		(rand_r(&o->seed) % 2 ? own_punch : own_dontneed)(o, slot);
	o->rounds++;
}

void *own(void *arg)
{
	struct owner *o = arg;

	use_cpu(o->cpu);
	while (!READ_ONCE(*o->stop) && o->wrong < 10) {
		own_step(o);
		take_rest(o->arena);
	}
	for (int slot = 0; slot < NR_SLOTS; slot++)
		expect(o, slot, "at the end");
	return NULL;
}
