// SPDX-License-Identifier: GPL-2.0-only
/*
 * VMAs that share a page table.  What a task does to one of them, perhaps in another
 * process, must not disturb the others.
 *
 * first_touch           A page of a file shares a table with anonymous memory, and other
 *                       processes punch that page all the time.  Each first touch of the
 *                       anonymous memory must take one page fault: a hole that clears no
 *                       entry must not free the table (law 7)
 * first_touch_refilled  the same while a thread refills the hole, which may cost a few
 *                       faults more
 * unlocked              no page table is allocated with a folio locked
 * rolled_back           an mremap() that fails halfway moves all pages back, although holes
 *                       are punched in a table that it has just emptied
 * one_page              MADV_DONTNEED of a table's only page does not flush the whole TLB
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define PUNCHERS	2
#define TOUCHES		200L
#define MOST		20000L	/* touches, if too few of them meet a hole */
#define MET		20L	/* touches during which a hole was punched */
#define PAUSE		40	/* microseconds */
#define SEED		7
#define TIME_LIMIT	300
#define WINDOW		300	/* microseconds */
/* The same while memory is touched, which is short: else few holes would be punched then. */
#define TOUCH_WINDOW	20

/* Memory with a page of a file in its first table, which the punchers punch. */
struct place {
	char *mem;
	size_t len;
	char *file_page;
	int fd;
	pid_t puncher[PUNCHERS];
	long *holes;	/* how many were punched; shared with the punchers */
};

/*
 * With pauses, in which a thread may refill the hole.  And where processors take turns, the end of
 * a pause is what interrupts the other processor, at any place in the kernel.
 */
static void punch(const struct place *p)
{
	unsigned int seed = getpid();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	use_cpu(1);
	while (!fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE)) {
		__atomic_fetch_add(p->holes, 1, __ATOMIC_RELAXED);
		usleep(rand_r(&seed) % PAUSE);
	}
	_exit(1);
}

static long holes_so_far(const struct place *p)
{
	return __atomic_load_n(p->holes, __ATOMIC_RELAXED);
}

static bool start_punching(struct place *p)
{
	for (int i = 0; i < PUNCHERS; i++) {
		p->puncher[i] = fork();
		CHECK(p->puncher[i] >= 0);
		if (!p->puncher[i])
			punch(p);
	}
	return true;
}

static void stop_punching(struct place *p)
{
	for (int i = 0; i < PUNCHERS; i++) {
		kill(p->puncher[i], SIGKILL);
		waitpid(p->puncher[i], NULL, 0);
	}
}

/* The file's page is the first of @len bytes of private memory. */
static bool make_place(struct place *p, size_t len)
{
	p->len = len;
	p->mem = map_aligned(len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	p->fd = memfd_create("unmap", MFD_CLOEXEC);
	p->holes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(p->mem != MAP_FAILED && p->fd >= 0 && p->holes != MAP_FAILED);
	CHECK(!ftruncate(p->fd, PAGE));
	p->file_page = mmap(p->mem, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    p->fd, 0);
	CHECK(p->file_page == p->mem);
	return true;
}

static void drop_place(struct place *p)
{
	munmap(p->mem, p->len);
	munmap(p->holes, PAGE);
	close(p->fd);
}

/* A thread that fills the file's page again and again. */
struct refiller {
	pthread_t thread;
	char *page;
	int pause;	/* microseconds */
	bool stop;
};

static void *refill(void *arg)
{
	struct refiller *c = arg;
	unsigned int seed = getpid();

	prctl(PR_SET_TIMERSLACK, 1);
	use_cpu(1);
	while (!READ_ONCE(c->stop)) {
		WRITE_ONCE(*c->page, 1);
		usleep(rand_r(&seed) % c->pause);
	}
	return NULL;
}

static bool start_refilling(struct refiller *c, const struct place *p, int pause)
{
	c->pause = pause;
	c->page = p->file_page;
	c->stop = false;
	return !pthread_create(&c->thread, NULL, refill, c);
}

static void stop_refilling(struct refiller *c)
{
	WRITE_ONCE(c->stop, true);
	pthread_join(c->thread, NULL);
}

FIXTURE(neighbours) {
	struct place place;
};

FIXTURE_VARIANT(neighbours) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(neighbours, 4);
SIZE_VARIANTS(neighbours, 1024);

FIXTURE_SETUP(neighbours)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	table_window(WINDOW);
}

FIXTURE_TEARDOWN(neighbours)
{
	table_window(0);
	end();
}

static long faults_so_far(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_minflt;
}

/*
 * First touches, how many of them a hole was punched during, their faults, and the most that
 * one of them took.
 */
struct touched {
	long nr, met, faults, most;
};

static void touch_first(struct place *p, size_t at, struct touched *t)
{
	long before = faults_so_far(), holes = holes_so_far(p), took;

	WRITE_ONCE(p->mem[at], 1);
	took = faults_so_far() - before;
	t->nr++;
	t->met += holes_so_far(p) != holes;
	t->faults += took;
	t->most = took > t->most ? took : t->most;
	madvise(p->mem + PAGE, PMD - PAGE, MADV_DONTNEED);
}

static struct touched touch_all(struct place *p)
{
	struct touched t = { 0 };

	table_window(TOUCH_WINDOW);
	while (t.nr < TOUCHES || (t.met < MET && t.nr < MOST))
		touch_first(p, MIB + t.nr % 200 * PAGE, &t);
	printf("# %ld first touches, holes during %ld, %ld faults, at most %ld for one\n", t.nr,
	       t.met, t.faults, t.most);
	return t;
}

TEST_LONG(neighbours, first_touch)
{
	struct touched t;

	ASSERT_TRUE(make_place(&self->place, PMD));
	ASSERT_TRUE(start_punching(&self->place));
	t = touch_all(&self->place);
	stop_punching(&self->place);
	EXPECT_LE(MET, t.met);
	/* Stock code takes a second fault now and then. */
	EXPECT_GE(t.met / 2, t.faults - t.nr);
	drop_place(&self->place);
}

/*
 * One more fault means that the table was filled, emptied and freed within a few instructions.
 */
TEST_LONG(neighbours, first_touch_refilled)
{
	struct refiller refiller;
	struct touched t;

	ASSERT_TRUE(make_place(&self->place, PMD));
	ASSERT_TRUE(start_refilling(&refiller, &self->place, PAUSE));
	ASSERT_TRUE(start_punching(&self->place));
	t = touch_all(&self->place);
	stop_punching(&self->place);
	stop_refilling(&refiller);
	EXPECT_LE(MET, t.met);
	EXPECT_GE(t.met / 2, t.faults - t.nr);
	EXPECT_GE(4, t.most);
	drop_place(&self->place);
}

/* Returns how many touches there were during which a hole was punched. */
static long touch_shared(struct place *p)
{
	long met = 0, holes;

	table_window(TOUCH_WINDOW);
	for (long i = 0; i < TOUCHES * 4 || (met < MET && i < MOST); i++) {
		holes = holes_so_far(p);
		WRITE_ONCE(p->mem[PMD / 2 + i % 32 * PAGE], 1);
		met += holes_so_far(p) != holes;
		fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 32 * PAGE, 32 * PAGE);
	}
	return met;
}

/* finish_fault() runs with a folio locked: make allocations below it fail, and count them. */
static bool allocates_unlocked(struct scene *scene)
{
	struct refiller refiller;
	struct place place;
	long failed, met;

	(void)scene;
	CHECK(make_place(&place, PMD));
	CHECK(start_refilling(&refiller, &place, PAUSE));
	CHECK(start_punching(&place));
	/* More pages of the file: no other page keeps their table. */
	CHECK(!ftruncate(place.fd, 64 * PAGE));
	CHECK(mmap(place.mem + PMD / 2, 32 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, place.fd, 32 * PAGE) != MAP_FAILED);
	CHECK(faults_on("fail_page_alloc", "finish_fault", 100));
	met = touch_shared(&place);
	failed = faults_off("fail_page_alloc");
	stop_punching(&place);
	stop_refilling(&refiller);
	drop_place(&place);
	printf("# holes during %ld touches\n", met);
	CHECK(met >= MET);
	CHECK_EQ(0, failed);
	return true;
}

TEST_LONG(neighbours, unlocked)
{
	struct scene scene = { .fd = -1 };

	if (access("/sys/kernel/debug/fail_page_alloc", F_OK))
		SKIP(return, "needs fail_page_alloc");
	EXPECT_TRUE(apart(allocates_unlocked, &scene));
}

/* mremap().  The hole is punched in the first table before the last one is moved. */

#define MOVED_TABLES	192L
#define EDGE		4L	/* pages in the first table */
#define ROUNDS		15

/* Pages in the first table, which has the file's page, too; and one in each other table. */
static void fill_moved(char *from)
{
	for (long i = 0; i < EDGE; i++)
		noise(from + i * PAGE, i, SEED);
	for (long i = 1; i < MOVED_TABLES; i++)
		noise(from + EDGE * PAGE + (i - 1) * PMD, i, SEED);
}

static long count_lost(const char *from)
{
	long lost = 0;

	for (long i = 0; i < EDGE; i++)
		lost += !is_noise(from + i * PAGE, i, SEED);
	for (long i = 1; i < MOVED_TABLES; i++)
		lost += !is_noise(from + EDGE * PAGE + (i - 1) * PMD, i, SEED);
	return lost;
}

/* @nr allocations succeed, and then all fail. */
static bool fail_after(long nr)
{
	return write_number("/sys/kernel/debug/fail_page_alloc/space", nr) &&
	       faults_on("fail_page_alloc", "move_page_tables", 100);
}

static long no_more_failures(void)
{
	long failed = faults_off("fail_page_alloc");

	write_number("/sys/kernel/debug/fail_page_alloc/space", 0);
	return failed;
}

static bool move_fails(char *from, size_t len)
{
	/* Alignment differs, so mremap() moves entries, not tables. */
	char *room = map_aligned(len + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), *to;
	long failed;

	CHECK(room != MAP_FAILED);
	CHECK(fail_after(MOVED_TABLES / 2));
	to = mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, room + PAGE);
	failed = no_more_failures();
	munmap(room, len + PMD);
	CHECK(failed > 0);
	CHECK(to == MAP_FAILED);
	CHECK_EQ(0, count_lost(from));
	return true;
}

static bool rolled_back(struct scene *scene)
{
	size_t len = EDGE * PAGE + (MOVED_TABLES - 1) * PMD;
	struct refiller refiller;
	long holes, met = 0;
	struct place place;
	char *from;

	(void)scene;
	CHECK(make_place(&place, MOVED_TABLES * PMD));
	from = place.mem + PMD - EDGE * PAGE;
	fill_moved(from);
	/*
	 * A hole must end, and the table still be gone, when pages move back: without a window,
	 * and refilled not at once.
	 */
	table_window(0);
	CHECK(start_refilling(&refiller, &place, 10 * PAUSE));
	CHECK(start_punching(&place));
	for (int i = 0; i < ROUNDS; i++) {
		holes = holes_so_far(&place);
		CHECK(move_fails(from, len));
		met += holes_so_far(&place) != holes;
	}
	stop_punching(&place);
	stop_refilling(&refiller);
	drop_place(&place);
	printf("# holes during %ld moves\n", met);
	CHECK(met >= ROUNDS / 2);
	return true;
}

TEST_LONG(neighbours, rolled_back)
{
	struct scene scene = { .fd = -1 };

	if (access("/sys/kernel/debug/fail_page_alloc", F_OK))
		SKIP(return, "needs fail_page_alloc");
	EXPECT_TRUE(apart(rolled_back, &scene));
}

/* The TLB. */

struct flushes {
	long long all, one;
};

static struct flushes count_flushes(void)
{
	return (struct flushes){
		.all = vmstat("nr_tlb_local_flush_all"),
		.one = vmstat("nr_tlb_local_flush_one"),
	};
}

/* Discards pages of a table, one by one; if @come, each one is the only page of the table. */
static struct flushes flushes_of(char *mem, bool come)
{
	struct flushes before = count_flushes(), after;

	for (long i = 0; i < TOUCHES; i++) {
		if (come)
			WRITE_ONCE(mem[i % 512 * PAGE], 1);
		madvise(mem + i % 512 * PAGE, PAGE, MADV_DONTNEED);
	}
	after = count_flushes();
	return (struct flushes){ .all = after.all - before.all, .one = after.one - before.one };
}

TEST_LONG(neighbours, one_page)
{
	struct flushes ours, others;
	char *mem;

	if (vmstat("nr_tlb_local_flush_one") < 0)
		SKIP(return, "needs CONFIG_DEBUG_TLBFLUSH");
	table_window(0);
	mem = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, mem);
	/* All CPUs are counted, and every task: what comes without pages is not ours. */
	others = flushes_of(mem, false);
	ours = flushes_of(mem, true);
	TH_LOG("%ld pages: %lld full TLB flushes, %lld of one page; without pages %lld and %lld",
	       TOUCHES, ours.all, ours.one, others.all, others.one);
	EXPECT_GT(TOUCHES / 10, ours.all - others.all);
	EXPECT_LE(TOUCHES, ours.one);
	EXPECT_GE(TOUCHES * 2 + TOUCHES / 10, ours.one - others.one);
}

TEST_HARNESS_MAIN
