// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory changes between the list and the lock, while a thread reclaims it all the time: see
 * ahead.h.
 *
 * Each page has a stamp, which every change checks or keeps.  In each turn a change gets a
 * piece of the memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../../../mm/unmap/tests/driver.h"
#include "ahead.h"

#define PIECE		40L	/* pages, at most: more than a stretch */
#define COMPACT_UNEVICTABLE	"/proc/sys/vm/compact_unevictable_allowed"
/* What a race must meet: turns, evicted pages, and those that went ahead of their turn. */
#define TURNS		40
#define EVICTED		(16 * STRETCH)
#define TAKEN		(4 * STRETCH)
#define LONGEST		560	/* seconds, until it has: with KASAN, a turn can take eight */
#define PORTION		(128 * PAGE)
#define PM_SWAP_TYPE	31
#define SWAP_AREAS_MAX	8	/* more than the guest has */

struct race {
	struct scene *s;
	__u64 stamps[PMD / PAGE];
	bool free[PMD / PAGE];	/* MADV_FREE: may be zero instead */
	unsigned long random;
	char *room;		/* for what moves away; nothing is mapped there */
	int device;
	long turn;
	long long taken, evicted;	/* pages, before the race: ahead of their turn, and all */
	bool stop;
	pthread_t thread;
};

/* Nothing of these is printed but by the process that runs the job. */
static struct race race;
static unsigned long seed = 1;

typedef bool (*change)(struct race *r, long first, long nr);

void race_seed(unsigned long value)
{
	seed = value;
}

static unsigned long next(struct race *r)
{
	r->random = r->random * 6364136223846793005UL + 1442695040888963407UL;
	return r->random >> 33;
}

static char *page_at(const struct race *r, long i)
{
	return r->s->mem + i * PAGE;
}

/* The first and the last word of a page. */
static bool holds(const char *page, __u64 stamp)
{
	const __u64 *words = (const __u64 *)page;

	return READ_ONCE(words[0]) == stamp && READ_ONCE(words[PAGE / sizeof(*words) - 1]) == stamp;
}

static bool is_right(const struct race *r, const char *page, long i)
{
	return holds(page, r->stamps[i]) || (r->free[i] && holds(page, 0));
}

static void stamp(struct race *r, long i)
{
	__u64 *words = (__u64 *)page_at(r, i);

	r->stamps[i] = (__u64)(r->turn + 1) << 32 | next(r);
	r->free[i] = false;
	WRITE_ONCE(words[0], r->stamps[i]);
	WRITE_ONCE(words[PAGE / sizeof(*words) - 1], r->stamps[i]);
}

static void stamp_all(struct race *r, long first, long nr)
{
	for (long i = first; i < first + nr; i++)
		stamp(r, i);
}

static bool check(const struct race *r, long first, long nr)
{
	for (long i = first; i < first + nr; i++) {
		if (is_right(r, page_at(r, i), i))
			continue;
		printf("# seed %lu turn %ld page %ld: %llx instead of %llx%s\n", seed, r->turn, i,
		       *(unsigned long long *)page_at(r, i), r->stamps[i],
		       r->free[i] ? " or zero" : "");
		return false;
	}
	return true;
}

/* The change made the pages zero. */
static bool check_zero(struct race *r, long first, long nr)
{
	for (long i = first; i < first + nr; i++) {
		r->stamps[i] = 0;
		r->free[i] = false;
	}
	return check(r, first, nr);
}

static bool is_file(const struct race *r)
{
	return r->s->fd >= 0;
}

/* Make the pieces what is taken: lazyfree, or mapped by clean entries. */
static bool prime(struct race *r, long first, long nr)
{
	CHECK(check(r, first, nr));
	if (is_file(r)) {
		stamp(r, first + next(r) % nr);
		return true;
	}
	stamp_all(r, first, nr);
	if (r->s->kind != LAZYFREE)
		return true;
	CHECK(!madvise(page_at(r, first), nr * PAGE, MADV_FREE));
	memset(&r->free[first], true, nr);
	return true;
}

/* Every fourth time references count.  MADV_PAGEOUT stops at an mlocked VMA. */
static void *page_out(void *arg)
{
	struct race *r = arg;
	bool swaps = r->s->kind == ANON || r->s->kind == SHMEM;

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (long i = 0; !READ_ONCE(r->stop); i++) {
		bool failed = madvise(r->s->mem, LEN, MADV_PAGEOUT);

		if (!failed && i % 4)
			continue;
		if (swaps)
			reclaim_all(PORTION);
		else
			reclaim_file(PORTION);
	}
	return NULL;
}

/* Or there was no race; reclaim may leave a file's pages alone for a while. */
static bool must_take(const struct scene *s)
{
	return ahead_takes(s->kind) && (s->kind == LAZYFREE || s->kind == ANON);
}

/* With the switch off no page is counted. */
static bool has_met(const struct race *r)
{
	if (r->turn < TURNS)
		return false;
	if (must_take(r->s) && ahead_taken() - r->taken < TAKEN)
		return false;
	return !ahead_is_on() || unmap_stat("evict_entries") - r->evicted >= EVICTED;
}

static bool goes_on(const struct race *r, double spent)
{
	if (spent < from_env("AHEAD_MS", 0) / 1e3)
		return true;
	return !has_met(r) && spent < LONGEST;
}

static bool take_turns(struct race *r, change change)
{
	double begin = now();

	for (; goes_on(r, now() - begin); r->turn++) {
		long nr = 1 + next(r) % PIECE, first = next(r) % (PAGES - nr + 1);

		CHECK(prime(r, next(r) % (PAGES - PIECE + 1), PIECE));
		CHECK(change(r, first, nr));
		cpu_relax();
	}
	printf("# %s:%d: %ld turns, %lld pages taken ahead, %lld evicted in %.0f s\n", __FILE__,
	       __LINE__, r->turn, ahead_taken() - r->taken,
	       unmap_stat("evict_entries") - r->evicted, now() - begin);
	CHECK(has_met(r));
	return check(r, 0, PAGES);
}

static bool start(struct race *r, struct scene *s)
{
	*r = (struct race){
		.s = s, .random = seed, .taken = ahead_taken(),
		.evicted = unmap_stat("evict_entries"),
	};
	CHECK(ahead_make(s));
	r->room = map_aligned(LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	r->device = open("/dev/unmap_test", O_RDWR);
	CHECK(r->room != MAP_FAILED);
	stamp_all(r, 0, PAGES);
	if (is_file(r))
		CHECK(!fsync(s->fd));
	return !pthread_create(&r->thread, NULL, page_out, r);
}

static bool run(struct scene *s, change change)
{
	bool done;

	CHECK(start(&race, s));
	done = take_turns(&race, change);
	WRITE_ONCE(race.stop, true);
	pthread_join(race.thread, NULL);
	return done;
}

/* Changes. */

static bool use(struct race *r, long first, long nr)
{
	for (long i = 0; i < PAGES; i++) {
		CHECK(check(r, i, 1));
		if (!is_file(r) || i % 8 == 0)
			stamp(r, i);
	}
	return true;
}

bool race_faults(struct scene *s)
{
	return run(s, use);
}

/* The child reads all, and writes one page of eight, which the parent must not see. */
static bool fork_one(struct race *r, long first, long nr)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		bool right = check(r, 0, PAGES);

		for (long i = 0; !is_file(r) && i < PAGES; i += 8)
			stamp(r, i);
		right &= check(r, 0, PAGES);
		fflush(stdout);
		_exit(!right);
	}
	CHECK(child > 0 && check(r, first, nr));
	if (!is_file(r))
		stamp_all(r, first, nr);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(0, status);
	return true;
}

bool race_fork(struct scene *s)
{
	return run(s, fork_one);
}

static bool move_there_and_back(struct race *r, long first, long nr)
{
	char *from = page_at(r, first), *to = r->room + next(r) % PAGES * PAGE;

	if (to + nr * PAGE > r->room + LEN)
		to = r->room;
	CHECK(mremap(from, nr * PAGE, nr * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	for (long i = 0; i < nr; i += 2)
		CHECK(is_right(r, to + i * PAGE, first + i));
	CHECK(mremap(to, nr * PAGE, nr * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, from) == from);
	CHECK(mmap(to, nr * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == to);
	return check(r, first, nr);
}

bool race_mremap(struct scene *s)
{
	return run(s, move_there_and_back);
}

/* UFFDIO_MOVE of as much as possible; returns the number of pages moved, or -1. */
static long uffd_move(int uffd, char *to, const char *from, long nr)
{
	long moved = 0;

	for (int tries = 0; moved < nr && tries < 1000; tries++) {
		struct uffdio_move move = {
			.dst = (uintptr_t)to + moved * PAGE,
			.src = (uintptr_t)from + moved * PAGE,
			.len = (nr - moved) * PAGE,
			.mode = UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES,
		};

		if (ioctl(uffd, UFFDIO_MOVE, &move) && move.move < 0 &&
		    move.move != -EAGAIN && move.move != -EBUSY)
			return -1;
		moved += move.move > 0 ? move.move / (long long)PAGE : 0;
	}
	return moved;
}

/* The pages come to another place; this one is written anew. */
static bool uffd_move_away(struct race *r, long first, long nr)
{
	char *to = mmap(r->room, nr * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	int uffd = uffd_watch(to, nr * PAGE, UFFD_FEATURE_MOVE, UFFDIO_REGISTER_MODE_MISSING);
	long moved;

	CHECK(to == r->room && uffd >= 0);
	moved = uffd_move(uffd, to, page_at(r, first), nr);
	close(uffd);
	CHECK(moved >= 0);
	for (long i = 0; i < moved; i++)
		CHECK(is_right(r, to + i * PAGE, first + i));
	CHECK(check(r, first + moved, nr - moved));
	stamp_all(r, first, moved);
	CHECK(mmap(to, nr * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == to);
	return true;
}

bool race_uffd_move(struct scene *s)
{
	return run(s, uffd_move_away);
}

/* The same addresses, other pages (of a file: the same ones again). */
static bool map_anew(struct race *r, long first, long nr)
{
	int flags = is_file(r) ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	char *at = page_at(r, first);

	if (r->turn % 3 == 0)
		CHECK(!munmap(at, nr * PAGE));
	if (r->turn % 3 == 1)
		CHECK(!madvise(at, nr * PAGE, MADV_DONTNEED));
	else
		CHECK(mmap(at, nr * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, r->s->fd,
			   first * PAGE) == at);
	if (is_file(r))
		return check(r, first, nr);
	CHECK(check_zero(r, first, nr));
	stamp_all(r, first, nr);
	return true;
}

bool race_remap(struct scene *s)
{
	return run(s, map_anew);
}

static bool truncate_piece(struct race *r, long first, long nr)
{
	int fd = r->s->fd;

	if (r->turn % 4) {
		CHECK(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first * PAGE,
				 nr * PAGE));
	} else {
		first = PAGES - nr;
		CHECK(!ftruncate(fd, first * PAGE));
		CHECK(!ftruncate(fd, LEN));
	}
	CHECK(check_zero(r, first, nr));
	if (r->turn % 2)
		stamp_all(r, first, nr);
	return true;
}

bool race_truncate(struct scene *s)
{
	return run(s, truncate_piece);
}

/* Migration entries come and go; now and then pages get other frames. */
static bool migrate(struct race *r, long first, long nr)
{
	struct unmap_driver_range range = {
		.addr = (uintptr_t)page_at(r, first), .pages = nr
	};

	if (r->device >= 0)
		ioctl(r->device, UNMAP_DRIVER_COLLECT, &range);
	if (r->turn % 16 == 0)
		write_text("/proc/sys/vm/compact_memory", "1");
	return check(r, first, nr);
}

bool race_migrate(struct scene *s)
{
	return run(s, migrate);
}

/*
 * Present, or a migration entry: reclaim splits a large folio of which only a part is locked, and
 * its pages have such entries meanwhile.  Their types are above those of all swap areas.
 */
static bool is_there(__u64 entry)
{
	return (entry & PM_PRESENT) ||
	       ((entry & PM_SWAP) && (entry & PM_SWAP_TYPE) >= SWAP_AREAS_MAX);
}

static bool all_present(const char *at, long nr)
{
	for (long i = 0; i < nr; i++) {
		__u64 entry = pagemap(at + i * PAGE);

		if (is_there(entry))
			continue;
		printf("# page %ld of %ld: %llx, then %llx\n", i, nr, (unsigned long long)entry,
		       (unsigned long long)pagemap(at + i * PAGE));
		return false;
	}
	return true;
}

/*
 * From the return of mlock() on all pages are there: race_mlock() forbids compaction to migrate
 * them.
 */
static bool lock_piece(struct race *r, long first, long nr)
{
	char *at = page_at(r, first);

	CHECK(!mlock(at, nr * PAGE));
	for (int looks = 0; looks < 4; looks++)
		CHECK(all_present(at, nr));
	CHECK(check(r, first, nr));
	CHECK(!munlock(at, nr * PAGE));
	return true;
}

bool race_mlock(struct scene *s)
{
	bool done;

	CHECK(write_number(COMPACT_UNEVICTABLE, 0));
	done = run(s, lock_piece);
	CHECK(write_number(COMPACT_UNEVICTABLE, 1));
	return done;
}

static bool protect_piece(struct race *r, long first, long nr)
{
	char *at = page_at(r, first);

	CHECK(!mprotect(at, nr * PAGE, PROT_READ));
	CHECK(check(r, first, nr));
	CHECK(!mprotect(at, nr * PAGE, PROT_READ | PROT_WRITE));
	if (!is_file(r))
		stamp_all(r, first, nr);
	return true;
}

bool race_mprotect(struct scene *s)
{
	return run(s, protect_piece);
}
