// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table is dropped, then a page changes that it mapped: who read through it must not read the
 * old page through its TLB.  See drop.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drop.h"

#define ROUNDS		10
#define TRIES		20	/* in a fifth of a second, at least */
/* Not the first page of its table: the flush of the table itself may be of that one's address. */
#define READ_AT		(7 * PAGE)
#define OTHERS		512L	/* other pages */

/* More tables than are worth it. */
static char *map_copies(int fd)
{
	char *mem = map_aligned(COPIES * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (long i = 0; mem != MAP_FAILED && i < COPIES; i++)
		if (mmap(mem + i * LEN, LEN, PROT_READ, MAP_FIXED | MAP_SHARED | MAP_POPULATE, fd,
			 0) == MAP_FAILED)
			return MAP_FAILED;
	return pad_tables(COPIES) ? mem : MAP_FAILED;
}

static char *map_others(void)
{
	return mmap(NULL, OTHERS * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * A thread that reads one page all the time, and makes no system call.
 *
 * When a page was set, it reads other pages, too, before that one.  QEMU makes the TLB of a program
 * that uses few pages so small (below 256 entries) that it flushes all of it where arm64 flushes
 * one address; then the flush that is tested would not be missed.
 */
struct reader {
	pthread_t thread;
	const char *page, *others;
	long asked, told;	/* rounds: even where the page was set, odd where it changed */
	char seen;		/* what it read in round @told, which began before it read */
};

static void *keep_reading(void *arg)
{
	struct reader *r = arg;
	long round = 0, last;

	use_cpu(1);
	do {
		last = round;
		round = __atomic_load_n(&r->asked, __ATOMIC_ACQUIRE);
		for (long i = 0; i < OTHERS && round != last && !(round % 2); i++)
			READ_ONCE(r->others[i * PAGE]);
		r->seen = READ_ONCE(*r->page);
		__atomic_store_n(&r->told, round, __ATOMIC_RELEASE);
		cpu_relax();
	} while (round >= 0);
	return NULL;
}

static char ask(struct reader *r, long round)
{
	__atomic_store_n(&r->asked, round, __ATOMIC_RELEASE);
	while (__atomic_load_n(&r->told, __ATOMIC_ACQUIRE) != round)
		cpu_relax();
	return r->seen;
}

/* Changes of the page that the reader reads: its table may just have gone. */

static bool punch(int fd, long at, long len)
{
	return !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len);
}

static bool change_by_hole(char *mem, int fd)
{
	return punch(fd, READ_AT, PAGE);
}

/* A huge page takes the place of the page, through another mapping; then that is changed. */
static bool change_by_collapse(char *mem, int fd)
{
	char byte = 0;

	CHECK(make_huge_pages(mem + LEN, LEN));
	CHECK(pwrite(fd, &byte, 1, READ_AT) == 1);
	return true;
}

/* All is new: nothing is left of a huge page, which would be mapped without tables. */
static bool set_page(int fd)
{
	char byte = 1;

	return punch(fd, 0, LEN) && pwrite(fd, &byte, 1, READ_AT) == 1;
}

/*
 * Drop the reader's table, and one that is beside it, so that there is enough to drop.  Returns
 * whether they went: reclaim passes over a process whose lock is taken at that moment.
 */
static bool drop_both(char *mem)
{
	long long dropped = unmap_stat(DROPPED);

	madvise(mem + 2 * LEN, LEN, MADV_POPULATE_READ);
	for (int i = 0; i < TRIES && drop_slabs(); i++) {
		if (unmap_stat(DROPPED) - dropped >= 2)
			return true;
		usleep(10000);
	}
	return false;
}

static bool change_under_reader(struct reader *r, int fd, char *mem,
				bool (*change)(char *mem, int fd))
{
	int went = 0;

	for (long round = 1; round <= ROUNDS; round++) {
		CHECK(set_page(fd));
		CHECK_EQ(1, ask(r, 2 * round));
		went += drop_both(mem);
		CHECK(change(mem, fd));
		CHECK_EQ(0, ask(r, 2 * round + 1));
	}
	CHECK(went > ROUNDS / 2);
	return true;
}

static bool flush(struct scene *scene, bool (*change)(char *mem, int fd))
{
	struct reader r = {};
	bool right;
	char *mem;

	scene->fd = drop_file(scene);
	CHECK(scene->fd >= 0);
	mem = map_copies(scene->fd);
	r.page = mem + READ_AT;
	r.others = map_others();
	CHECK(mem != MAP_FAILED && r.others != MAP_FAILED);
	CHECK(!pthread_create(&r.thread, NULL, keep_reading, &r));
	right = change_under_reader(&r, scene->fd, mem, change);
	__atomic_store_n(&r.asked, -1, __ATOMIC_RELEASE);
	pthread_join(r.thread, NULL);
	return right;
}

bool flush_reader(struct scene *scene)
{
	return flush(scene, change_by_hole);
}

bool flush_collapsed(struct scene *scene)
{
	return flush(scene, change_by_collapse);
}
