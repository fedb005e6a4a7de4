// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory changes while its page tables are dropped all the time, of a process that runs: see
 * drop.h.
 *
 * Several threads map one file many times.  Each has its own pages of the file, and its own
 * mappings, through which it changes them; so it knows what it must read, through any of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drop.h"

#define THREADS		3
#define MAPPINGS	14L	/* of each thread: the last one is private */
#define ALL		(MAPPINGS * LEN)

struct changer {
	pthread_t thread;
	int number, fd;
	bool is_shmem, failed;
	unsigned long random;
	char *mem, *room;
	__u64 stamps[PMD / PAGE], copies[PMD / PAGE];	/* a copy of zero: none */
	__u64 turn;
};

static struct changer changers[THREADS];
static unsigned long seed = 1;
static bool stop;

void race_seed(unsigned long value)
{
	seed = value;
}

static unsigned long next(struct changer *c)
{
	c->random = c->random * 6364136223846793005UL + 1442695040888963407UL;
	return c->random >> 33;
}

/* A page of the file that belongs to this thread. */
static long own_page(struct changer *c)
{
	return next(c) % (PAGES / THREADS) * THREADS + c->number;
}

static char *shared(struct changer *c)
{
	return c->mem + next(c) % (MAPPINGS - 1) * LEN;
}

static char *private(struct changer *c)
{
	return c->mem + (MAPPINGS - 1) * LEN;
}

static bool holds(const char *page, __u64 stamp)
{
	const __u64 *words = (const __u64 *)page;

	return READ_ONCE(words[0]) == stamp && READ_ONCE(words[PAGE / sizeof(*words) - 1]) == stamp;
}

static void put(char *page, __u64 stamp)
{
	__u64 *words = (__u64 *)page;

	WRITE_ONCE(words[0], stamp);
	WRITE_ONCE(words[PAGE / sizeof(*words) - 1], stamp);
}

static __u64 new_stamp(struct changer *c)
{
	return ++c->turn << 8 | (c->number + 1);
}

static bool check(struct changer *c, const char *map, long page)
{
	if (holds(map + page * PAGE, c->stamps[page]))
		return true;
	printf("# seed %lu thread %d page %ld: %llx instead of %llx\n", seed, c->number, page,
	       *(const unsigned long long *)(map + page * PAGE), c->stamps[page]);
	return false;
}

static bool check_all(struct changer *c)
{
	const char *map = shared(c);

	for (long i = c->number; i < PAGES / THREADS * THREADS; i += THREADS)
		CHECK(check(c, map, i));
	return true;
}

/* Changes.  Each leaves all mapped, and all pages of this thread as they are known to be. */

static bool write_pages(struct changer *c)
{
	for (int i = 0; i < 64; i++) {
		long page = own_page(c);

		c->stamps[page] = new_stamp(c);
		put(shared(c) + page * PAGE, c->stamps[page]);
		CHECK(check(c, shared(c), page));
	}
	return true;
}

/* Write to pages of the private mapping: from then on they do not follow the file. */
static bool copy_pages(struct changer *c)
{
	for (int i = 0; i < 8; i++) {
		long page = own_page(c);

		c->copies[page] = new_stamp(c);
		put(private(c) + page * PAGE, c->copies[page]);
	}
	for (long i = c->number; i < PAGES; i += THREADS)
		CHECK(!c->copies[i] || holds(private(c) + i * PAGE, c->copies[i]));
	return true;
}

static bool forget_copies(struct changer *c)
{
	CHECK(!madvise(private(c), LEN, MADV_DONTNEED));
	memset(c->copies, 0, sizeof(c->copies));
	for (int i = 0; i < 16; i++)
		CHECK(check(c, private(c), own_page(c)));
	return true;
}

static bool protect(struct changer *c)
{
	char *map = shared(c);

	CHECK(!mprotect(map, LEN, PROT_READ));
	CHECK(check(c, map, own_page(c)));
	CHECK(!mprotect(map, LEN, PROT_READ | PROT_WRITE));
	return true;
}

static bool move(struct changer *c)
{
	char *map = shared(c);

	CHECK(mremap(map, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, c->room) == c->room);
	CHECK(check(c, c->room, own_page(c)));
	CHECK(mremap(c->room, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, map) == map);
	return mmap(c->room, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	       c->room;
}

static bool map_anew(struct changer *c)
{
	char *map = shared(c);

	if (next(c) % 2)
		CHECK(!madvise(map, LEN, MADV_DONTNEED));
	else
		CHECK(mmap(map, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, c->fd, 0) ==
		      map);
	return check(c, map, own_page(c));
}

static bool lock(struct changer *c)
{
	char *map = shared(c);

	CHECK(!mlock(map, LEN));
	/* Reclaim may split a large folio at this moment, but the table stays. */
	CHECK(count_pages(map, LEN, PM_PRESENT) > PAGES / 2);
	CHECK(!munlock(map, LEN));
	return true;
}

static bool punch(struct changer *c)
{
	long page = own_page(c);

	CHECK(!fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page * PAGE, PAGE));
	c->stamps[page] = 0;
	return check(c, shared(c), page);
}

static bool watch(struct changer *c)
{
	char *map = shared(c);
	int uffd;

	if (!c->is_shmem)
		return true;
	uffd = uffd_watch(map, LEN, UFFD_FEATURE_WP_HUGETLBFS_SHMEM, UFFDIO_REGISTER_MODE_WP);
	/* A child of another thread has the previous userfaultfd, until it ends. */
	if (uffd < 0 && errno == EBUSY)
		return true;
	CHECK(uffd >= 0);
	CHECK(uffd_protect(uffd, map, LEN / 2, true));
	CHECK(check(c, map, own_page(c)));
	return !close(uffd);
}

static bool sync_file(struct changer *c)
{
	return !fsync(c->fd);
}

/* The child reads, and perhaps becomes another program. */
static bool fork_child(struct changer *c)
{
	bool execs = next(c) % 2;
	int status = -1;
	pid_t child = fork();

	if (!child) {
		bool right = check_all(c);

		if (right && execs)
			execl("/bin/true", "true", NULL);
		_exit(!right);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(0, status);
	return true;
}

static bool (*const changes[])(struct changer *c) = {
	write_pages, write_pages, check_all, copy_pages, copy_pages, forget_copies, protect, move,
	map_anew, lock, punch, watch, sync_file, fork_child,
};

static void *keep_changing(void *arg)
{
	struct changer *c = arg;

	use_cpu(c->number % sysconf(_SC_NPROCESSORS_ONLN));
	while (!READ_ONCE(stop) && !c->failed)
		c->failed = !changes[next(c) % (sizeof(changes) / sizeof(*changes))](c);
	c->failed |= !check_all(c);
	return NULL;
}

static bool start(struct changer *c, const struct scene *scene, int number)
{
	*c = (struct changer){
		.number = number, .fd = scene->fd, .is_shmem = scene->kind == SHMEM,
		.random = seed + number,
	};
	c->mem = map_aligned(ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	c->room = map_aligned(LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(c->mem != MAP_FAILED && c->room != MAP_FAILED);
	for (long i = 0; i < MAPPINGS; i++)
		CHECK(mmap(c->mem + i * LEN, LEN, PROT_READ | PROT_WRITE,
			   MAP_FIXED | (i == MAPPINGS - 1 ? MAP_PRIVATE : MAP_SHARED),
			   c->fd, 0) != MAP_FAILED);
	return !pthread_create(&c->thread, NULL, keep_changing, c);
}

/* Drop tables, now and then in reclaim of the group, which takes pages, too. */
static void drop_for_a_while(void)
{
	/* No line in the kernel log each time: a console is slow. */
	write_text("/proc/sys/vm/drop_caches", "4");
	race_begins();
	for (long i = 0; race_goes_on(RACE_CHANGES); i++) {
		if (i % 4)
			drop_slabs();
		else
			reclaim_all(64 * PAGE);
	}
}

bool race_changes(struct scene *scene)
{
	bool failed = false;

	scene->fd = drop_file(scene);
	CHECK(scene->fd >= 0);
	stop = false;
	for (int i = 0; i < THREADS; i++)
		CHECK(start(&changers[i], scene, i));
	drop_for_a_while();
	WRITE_ONCE(stop, true);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(changers[i].thread, NULL);
		failed |= changers[i].failed;
	}
	return !failed;
}

/*
 * The file lies in the second half of a table, the end of @anon in the first.  munmap() takes
 * away the VMA of @anon first, and comes to its last pages, in that table, a while later.
 */
static bool unmap_beside(char *mem, int fd)
{
	size_t anon = 8 * LEN + LEN / 2;
	char *file = mem + anon;

	for (int round = 0; round < 12; round++) {
		CHECK(mmap(mem, anon, PROT_READ | PROT_WRITE,
			   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == mem);
		CHECK(mmap(file, LEN / 2, PROT_READ, MAP_FIXED | MAP_SHARED | MAP_POPULATE, fd,
			   0) == file);
		CHECK(!munmap(mem, anon));
		CHECK_EQ(0, count_not_zero(file, LEN / 2));
	}
	return true;
}

bool race_munmap(struct scene *scene)
{
	bool right;
	char *mem;

	scene->fd = drop_file(scene);
	CHECK(scene->fd >= 0 && pad_tables(COPIES));
	mem = map_aligned(9 * LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(mem != MAP_FAILED && dropping_start());
	right = unmap_beside(mem, scene->fd);
	dropping_stop();
	return right;
}
