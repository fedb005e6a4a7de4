// SPDX-License-Identifier: GPL-2.0-only
/* Owners of pages, and those who disturb them: see tables_race.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tables_race.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE		25
#endif

#define NR_TABLES	4
#define TABLE_PAGES	((long)(PMD / PAGE))
#define LEN		(NR_TABLES * PMD)
#define PER_TABLE	2
#define NR_SLOTS	(NR_TABLES * PER_TABLE)
#define MAX_OWNERS	8
#define STRIDE		13		/* pages between those of two owners */
#define POKES		8
#define PROCESSES	8
#define WINDOW		500		/* microseconds */

/*
 * @spare: as large as @mem; of each table the first half is to move pages to, the
 * second a neighbour's.
 */
struct arena {
	enum area area;
	enum uffd_mode mode;
	char *mem, *spare, *alias, *alias_to;
	int fd, poke_fd, uffd;
	int filled;		/* the table that was filled last for OTHER_EMPTY */
};

struct owner {
	pthread_t thread;
	const struct race *race;
	struct arena *arena;
	bool *stop;
	int index, cpu, pipe[2];
	unsigned int seed;
	unsigned long count, stamp[NR_SLOTS];
	long rounds, wrong;
};

struct disturber {
	pthread_t thread;
	struct arena *arena;
	bool *stop;
	unsigned int other, seed;
	int cpu;
	long rounds, wrong, collapsed;
};

/* The memory. */

static int backing(size_t len)
{
	int fd = memfd_create("unmap", MFD_CLOEXEC);

	return fd >= 0 && !ftruncate(fd, len) ? fd : -1;
}

static char *map_area(const struct arena *a)
{
	int flags = a->area == AREA_ANON ? MAP_PRIVATE | MAP_ANONYMOUS :
		    a->area == AREA_COPIED ? MAP_PRIVATE : MAP_SHARED;

	return map_aligned(LEN, PROT_READ | PROT_WRITE, flags, a->fd);
}

/* Neighbours of the pages that are moved, in the second half of each table. */
static bool map_spare(struct arena *a)
{
	a->poke_fd = backing(LEN);
	a->spare = map_aligned(LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(a->poke_fd >= 0);
	CHECK(a->spare != MAP_FAILED);
	for (size_t at = PMD / 2; at < LEN; at += PMD)
		CHECK(mmap(a->spare + at, PMD / 2, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_FIXED, a->poke_fd, at) == a->spare + at);
	return true;
}

static bool map_alias(struct arena *a)
{
	if (a->area != AREA_SHMEM)
		return true;
	a->alias = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd);
	a->alias_to = map_aligned(PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(a->alias != MAP_FAILED);
	CHECK(a->alias_to != MAP_FAILED);
	return true;
}

static bool watch_arena(struct arena *a)
{
	bool missing = a->mode == UFFD_MISSING;

	a->uffd = uffd_watch(a->mem, LEN, UFFD_FEATURE_SIGBUS |
			     (missing ? UFFD_FEATURE_MOVE : UFFD_FEATURE_WP_HUGETLBFS_SHMEM),
			     missing ? UFFDIO_REGISTER_MODE_MISSING : UFFDIO_REGISTER_MODE_WP);
	return a->uffd >= 0;
}

static bool make_arena(struct arena *a, enum area kind, enum uffd_mode mode)
{
	*a = (struct arena){ .area = kind, .mode = mode, .fd = -1, .uffd = -1 };
	if (kind != AREA_ANON)
		a->fd = backing(LEN);
	CHECK(kind == AREA_ANON || a->fd >= 0);
	a->mem = map_area(a);
	CHECK(a->mem != MAP_FAILED);
	CHECK(map_spare(a));
	CHECK(map_alias(a));
	CHECK(mode == UFFD_NONE || watch_arena(a));
	return true;
}

static void drop_arena(struct arena *a)
{
	munmap(a->mem, LEN);
	munmap(a->spare, LEN);
	if (a->alias)
		munmap(a->alias, PMD);
	if (a->alias_to)
		munmap(a->alias_to, PMD);
	if (a->uffd >= 0)
		close(a->uffd);
	if (a->fd >= 0)
		close(a->fd);
	close(a->poke_fd);
}

void race_window(bool wide)
{
	open_window(wide ? WINDOW : 0);
}

const char *race_needs(const struct race *race)
{
	struct arena a = {};
	bool done;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return "needs two CPUs";
	if (race->uffd == UFFD_NONE)
		return NULL;
	if (!make_arena(&a, race->area, UFFD_NONE))
		return "no memory";
	a.mode = race->uffd;
	done = watch_arena(&a);
	drop_arena(&a);
	return done ? NULL : "needs userfaultfd that moves pages and protects shmem";
}

/* Owners. */

static char *slot_at(const struct owner *o, int slot)
{
	long page = slot / PER_TABLE * TABLE_PAGES +
		    slot % PER_TABLE * (TABLE_PAGES / PER_TABLE) + 1 + o->index * STRIDE;

	return o->arena->mem + page * PAGE;
}

/* Where its pages are moved: only one at a time. */
static char *spare_at(const struct owner *o, int slot)
{
	return o->arena->spare + slot / PER_TABLE * PMD + (1 + o->index) * PAGE;
}

/* Beyond all owners' pages. */
#define NOBODYS		((1 + MAX_OWNERS * STRIDE) * PAGE)

/* A page of nobody's that keeps the table there, if it is of a file, until OTHER_EMPTY. */
static void fill_nobodys(const struct owner *o, int slot)
{
	READ_ONCE(o->arena->mem[slot / PER_TABLE * PMD + NOBODYS + o->index * PAGE]);
	WRITE_ONCE(o->arena->filled, slot / PER_TABLE);
}

/* The same where its pages are moved. */
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

/* UFFDIO_MOVE says so if others have its page, or change the tables. */
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

/* The page comes from elsewhere: a copy, or the page itself. */
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

static void punch(int fd, off_t at, off_t len)
{
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len);
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
	/* Until it is written it may go: one write, and it has to stay as it is. */
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

/* What was there before, for the next page, which nobody owns. */
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
	fill_nobodys(o, slot);
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

/* One of the bits that are set. */
static int pick(unsigned int bits, unsigned int *seed)
{
	int skip = rand_r(seed) % __builtin_popcount(bits);

	while (skip--)
		bits &= bits - 1;
	return __builtin_ctz(bits);
}

/* Tables are empty often: what was written is dropped soon. */
static void own_step(struct owner *o)
{
	int slot = rand_r(&o->seed) % NR_SLOTS;

	expect(o, slot, "found");
	own_ops[pick(o->race->own, &o->seed)](o, slot);
	expect(o, slot, "after");
	if (rand_r(&o->seed) % 4)
		(rand_r(&o->seed) % 2 ? own_punch : own_dontneed)(o, slot);
	o->rounds++;
}

static void *own(void *arg)
{
	struct owner *o = arg;

	use_cpu(o->cpu);
	while (!READ_ONCE(*o->stop) && o->wrong < 10)
		own_step(o);
	for (int slot = 0; slot < NR_SLOTS; slot++)
		expect(o, slot, "at the end");
	return NULL;
}

static bool start_owner(struct owner *o)
{
	CHECK(!pipe(o->pipe));
	CHECK(!pthread_create(&o->thread, NULL, own, o));
	return true;
}

static void join_owner(struct owner *o)
{
	pthread_join(o->thread, NULL);
	close(o->pipe[0]);
	close(o->pipe[1]);
}

/* Disturbers. */

static size_t some_table(struct disturber *d)
{
	return rand_r(&d->seed) % NR_TABLES * PMD;
}

static void other_collapse(struct disturber *d)
{
	d->collapsed += !madvise(d->arena->mem + some_table(d), PMD, MADV_COLLAPSE);
}

static void other_reclaim(struct disturber *d)
{
	reclaim_all(MIB);
}

static void other_pageout(struct disturber *d)
{
	madvise(d->arena->mem + some_table(d), PMD, MADV_PAGEOUT);
}

/* Beyond all owners' pages, which a private mapping keeps when they were written. */
static void other_punch(struct disturber *d)
{
	size_t at = some_table(d) + NOBODYS;

	if (d->arena->fd < 0)
		return;
	for (int i = 0; i < POKES; i++)
		READ_ONCE(d->arena->mem[at + i * PAGE]);
	if (rand_r(&d->seed) % 2)
		madvise(d->arena->mem + at, POKES * PAGE, MADV_DONTNEED);
	else
		punch(d->arena->fd, at, POKES * PAGE);
}

static void other_poke(struct disturber *d)
{
	size_t at = some_table(d) + PMD / 2 + rand_r(&d->seed) % POKES * PAGE;
	char *mem = d->arena->spare + at;

	WRITE_ONCE(*mem, 1);
	d->wrong += READ_ONCE(*mem) != 1;
	if (rand_r(&d->seed) % 2)
		madvise(mem, PAGE, MADV_PAGEOUT);
	d->wrong += READ_ONCE(*mem) != 1;
	punch(d->arena->poke_fd, at, PAGE);
	d->wrong += READ_ONCE(*mem) != 0;
	madvise(mem, PAGE, MADV_DONTNEED);
}

static void other_empty(struct disturber *d)
{
	off_t at = READ_ONCE(d->arena->filled) * PMD;

	usleep(rand_r(&d->seed) % 500);
	punch(d->arena->poke_fd, at + PMD / 2 + POKES * PAGE, (1 + MAX_OWNERS) * PAGE);
	if (d->arena->fd >= 0)
		punch(d->arena->fd, at + NOBODYS, MAX_OWNERS * PAGE);
}

static void other_shift(struct disturber *d)
{
	struct arena *a = d->arena;
	char *from = a->alias, *to = a->alias_to;

	if (!from)
		return;
	for (long i = 0; i < POKES; i++)
		READ_ONCE(from[i * (TABLE_PAGES / POKES) * PAGE]);
	if (mremap(from, PMD, PMD, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to) {
		d->wrong++;
		return;
	}
	mmap(from, PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	a->alias = to;
	a->alias_to = from;
}

static void other_look(struct disturber *d)
{
	static __thread unsigned char resident[LEN / PAGE];
	char text[4096];

	read_text("/proc/self/smaps", text, sizeof(text));
	read_text("/proc/self/numa_maps", text, sizeof(text));
	count_pages(d->arena->mem, LEN, PM_PRESENT);
	mincore(d->arena->mem, LEN, resident);
}

/*
 * QEMU before 8.1 may go on with an instruction that another CPU has just patched: the
 * switch is flipped only where that was asked for.
 */
static void other_flip(struct disturber *d)
{
	write_text(UNMAP_SYSFS "tables_policy", rand_r(&d->seed) % 2 ? "eager" : "pressure");
	race_window(rand_r(&d->seed) % 2);
	if (getenv("TABLES_SWITCH"))
		write_number(UNMAP_SYSFS "enabled", UNMAP_ALL & ~(1 << rand_r(&d->seed) % 6));
	if (rand_r(&d->seed) % 4 == 0)
		write_text("/proc/sys/vm/drop_caches", "2");
	usleep(10000);
}

static void (* const other_ops[NR_OTHER])(struct disturber *d) = {
	[OTHER_COLLAPSE]	= other_collapse,
	[OTHER_RECLAIM]		= other_reclaim,
	[OTHER_PAGEOUT]		= other_pageout,
	[OTHER_PUNCH]		= other_punch,
	[OTHER_POKE]		= other_poke,
	[OTHER_EMPTY]		= other_empty,
	[OTHER_SHIFT]		= other_shift,
	[OTHER_LOOK]		= other_look,
	[OTHER_FLIP]		= other_flip,
};

static void *disturb(void *arg)
{
	struct disturber *d = arg;

	use_cpu(d->cpu);
	for (; !READ_ONCE(*d->stop); d->rounds++)
		other_ops[pick(d->other, &d->seed)](d);
	return NULL;
}

/* A race: two owners on two CPUs, and up to two who disturb them. */

#define NR_OWNERS	2

static long from_env(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 0) : otherwise;
}

static time_t time_limit(const struct race *race)
{
	return time(NULL) + from_env("TABLES_SECONDS", race->seconds);
}

static unsigned int new_seed(void)
{
	return from_env("TABLES_SEED", time(NULL) ^ (unsigned int)getpid() << 16);
}

static void init_owner(struct owner *o, const struct race *race, struct arena *arena,
		       bool *stop, int index, unsigned int seed)
{
	*o = (struct owner){
		.race = race, .arena = arena, .stop = stop, .index = index, .cpu = index % 2,
		.seed = seed + index * 7919,
	};
}

struct players {
	struct arena arena;
	bool stop;
	struct owner owners[NR_OWNERS];
	struct disturber others[NR_OTHERS];
};

static bool start_players(struct players *p, const struct race *race, unsigned int seed)
{
	CHECK(make_arena(&p->arena, race->area, race->uffd));
	for (int i = 0; i < NR_OWNERS; i++) {
		init_owner(&p->owners[i], race, &p->arena, &p->stop, i, seed);
		CHECK(start_owner(&p->owners[i]));
	}
	for (int i = 0; i < NR_OTHERS; i++) {
		p->others[i] = (struct disturber){
			.arena = &p->arena, .stop = &p->stop, .other = race->other[i],
			.seed = seed + 31 * i, .cpu = !i,
		};
		if (race->other[i])
			CHECK(!pthread_create(&p->others[i].thread, NULL, disturb,
					      &p->others[i]));
	}
	return true;
}

static bool finish_players(struct players *p)
{
	long wrong = 0;

	WRITE_ONCE(p->stop, true);
	for (int i = 0; i < NR_OWNERS; i++) {
		join_owner(&p->owners[i]);
		wrong += p->owners[i].wrong;
	}
	for (int i = 0; i < NR_OTHERS; i++) {
		if (p->others[i].other)
			pthread_join(p->others[i].thread, NULL);
		wrong += p->others[i].wrong;
	}
	CHECK_EQ(0, wrong);
	return true;
}

static bool any_wrong(const struct players *p)
{
	for (int i = 0; i < NR_OWNERS; i++)
		if (READ_ONCE(p->owners[i].wrong))
			return true;
	return false;
}

/* On a busy host time alone says nothing. */
static bool is_over(const struct players *p, time_t end, long rounds)
{
	bool over = time(NULL) >= end;

	for (int i = 0; i < NR_OWNERS; i++)
		over &= READ_ONCE(p->owners[i].rounds) >= rounds;
	return over || any_wrong(p);
}

bool race_job(struct scene *scene)
{
	const struct race *race = (const struct race *)scene;
	struct players players = {};
	unsigned int seed = new_seed();

	CHECK(start_players(&players, race, seed));
	for (time_t end = time_limit(race); !is_over(&players, end, 100);)
		usleep(20000);
	CHECK(finish_players(&players));
	drop_arena(&players.arena);
	/* Otherwise it was another race. */
	if (race->other[0] == BIT(OTHER_COLLAPSE))
		CHECK(players.others[0].collapsed);
	printf("# %ld and %ld rounds, %ld and %ld of others\n", players.owners[0].rounds,
	       players.owners[1].rounds, players.others[0].rounds, players.others[1].rounds);
	return true;
}

static bool play_until_killed(struct scene *scene)
{
	struct players players = {};

	CHECK(start_players(&players, (const struct race *)scene, new_seed()));
	for (;;)
		pause();
}

bool race_killed_job(struct scene *scene)
{
	const struct race *race = (const struct race *)scene;
	unsigned int seed = new_seed();
	long killed = 0;

	for (time_t end = time_limit(race); time(NULL) < end || killed < 8; killed++) {
		int pid = start_apart(play_until_killed, scene), status;

		CHECK(pid > 0);
		usleep(10000 + rand_r(&seed) % 150000);
		CHECK(!kill(pid, SIGKILL));
		CHECK_EQ(pid, waitpid(pid, &status, 0));
		CHECK(WIFSIGNALED(status));
	}
	printf("# %ld killed\n", killed);
	return true;
}

/* Stress: one area that all processes share, and one of each of them alone. */

struct stress {
	struct race race;
	struct arena shared;
	int index;
	unsigned int seed;
};

static bool stress_process(struct scene *scene)
{
	struct stress *stress = (struct stress *)scene;
	struct race *race = &stress->race;
	struct owner shared;
	struct players own = {};

	init_owner(&shared, race, &stress->shared, &own.stop, stress->index, stress->seed);
	CHECK(start_owner(&shared));
	race->area = stress->index % 2 ? AREA_COPIED : AREA_ANON;
	CHECK(start_players(&own, race, stress->seed + 101 * stress->index));
	for (time_t end = time_limit(race); !is_over(&own, end, 10);)
		usleep(20000);
	CHECK(finish_players(&own));
	join_owner(&shared);
	CHECK_EQ(0, shared.wrong);
	return true;
}

bool race_stress_job(struct scene *scene)
{
	struct stress stress = { .race = *(const struct race *)scene };
	int pids[PROCESSES], failed = 0, status;

	stress.seed = new_seed();
	printf("# seed %u\n", stress.seed);
	CHECK(make_arena(&stress.shared, AREA_SHMEM, UFFD_NONE));
	for (stress.index = 0; stress.index < PROCESSES; stress.index++) {
		pids[stress.index] = start_apart(stress_process, &stress.race.scene);
		CHECK(pids[stress.index] > 0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		CHECK_EQ(pids[i], waitpid(pids[i], &status, 0));
		failed += !!status;
	}
	CHECK_EQ(0, failed);
	return true;
}
