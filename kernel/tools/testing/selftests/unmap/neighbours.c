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
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "fault_util.h"
#include "unmap_util.h"

#define PUNCHERS	2
#define TOUCHES		200L
#define SEED		7
#define TIME_LIMIT	300
#define WINDOW		300	/* microseconds */

/* Memory with a page of a file in its first table, which the punchers punch. */
struct place {
	char *mem;
	size_t len;
	char *file_page;
	int fd;
	pid_t puncher[PUNCHERS];
};

static void punch(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	use_cpu(1);
	for (;;)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE);
}

static bool start_punching(struct place *p)
{
	for (int i = 0; i < PUNCHERS; i++) {
		p->puncher[i] = fork();
		CHECK(p->puncher[i] >= 0);
		if (!p->puncher[i])
			punch(p->fd);
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
	CHECK(p->mem != MAP_FAILED && p->fd >= 0);
	CHECK(!ftruncate(p->fd, PAGE));
	p->file_page = mmap(p->mem, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    p->fd, 0);
	CHECK(p->file_page == p->mem);
	return true;
}

static void drop_place(struct place *p)
{
	munmap(p->mem, p->len);
	close(p->fd);
}

/* A thread that fills the file's page again and again. */
struct refiller {
	pthread_t thread;
	char *page;
	bool stop;
};

static void *refill(void *arg)
{
	struct refiller *c = arg;

	use_cpu(1);
	while (!READ_ONCE(c->stop))
		WRITE_ONCE(*c->page, 1);
	return NULL;
}

static bool start_refilling(struct refiller *c, const struct place *p)
{
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

/* Faults of all first touches, and the most that one of them took. */
struct touched {
	long faults, most;
};

static void touch_first(struct place *p, size_t at, struct touched *t)
{
	long before = faults_so_far(), took;

	WRITE_ONCE(p->mem[at], 1);
	took = faults_so_far() - before;
	t->faults += took;
	t->most = took > t->most ? took : t->most;
	madvise(p->mem + PAGE, PMD - PAGE, MADV_DONTNEED);
}

static struct touched touch_all(struct place *p)
{
	struct touched t = { 0 };

	for (long i = 0; i < TOUCHES; i++)
		touch_first(p, MIB + i % 200 * PAGE, &t);
	return t;
}

TEST_F_TIMEOUT(neighbours, first_touch, TIME_LIMIT)
{
	struct touched t;

	ASSERT_TRUE(make_place(&self->place, PMD));
	ASSERT_TRUE(start_punching(&self->place));
	t = touch_all(&self->place);
	stop_punching(&self->place);
	TH_LOG("%ld first touches, %ld faults, at most %ld for one", TOUCHES, t.faults, t.most);
	/* Stock code takes a second fault now and then. */
	EXPECT_GE(TOUCHES + TOUCHES / 50, t.faults);
	drop_place(&self->place);
}

/*
 * One more fault means that the table was filled, emptied and freed within a few instructions.
 */
TEST_F_TIMEOUT(neighbours, first_touch_refilled, TIME_LIMIT)
{
	struct refiller refiller;
	struct touched t;

	ASSERT_TRUE(make_place(&self->place, PMD));
	ASSERT_TRUE(start_refilling(&refiller, &self->place));
	ASSERT_TRUE(start_punching(&self->place));
	t = touch_all(&self->place);
	stop_punching(&self->place);
	stop_refilling(&refiller);
	TH_LOG("%ld first touches, %ld faults, at most %ld for one", TOUCHES, t.faults, t.most);
	EXPECT_GE(TOUCHES + TOUCHES / 20, t.faults);
	EXPECT_GE(4, t.most);
	drop_place(&self->place);
}

/* finish_fault() runs with a folio locked: make allocations below it fail, and count them. */
static bool allocates_unlocked(struct scene *scene)
{
	struct refiller refiller;
	struct place place;
	long failed;

	(void)scene;
	CHECK(make_place(&place, PMD));
	CHECK(start_refilling(&refiller, &place));
	CHECK(start_punching(&place));
	/* More pages of the file: no other page keeps their table. */
	CHECK(!ftruncate(place.fd, 64 * PAGE));
	CHECK(mmap(place.mem + PMD / 2, 32 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, place.fd, 32 * PAGE) != MAP_FAILED);
	CHECK(faults_on("fail_page_alloc", "finish_fault", 100));
	for (long i = 0; i < TOUCHES * 4; i++) {
		WRITE_ONCE(place.mem[PMD / 2 + i % 32 * PAGE], 1);
		fallocate(place.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 32 * PAGE,
			  32 * PAGE);
	}
	failed = faults_off("fail_page_alloc");
	stop_punching(&place);
	stop_refilling(&refiller);
	drop_place(&place);
	CHECK_EQ(0, failed);
	return true;
}

TEST_F_TIMEOUT(neighbours, unlocked, TIME_LIMIT)
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
	struct place place;
	char *from;

	(void)scene;
	CHECK(make_place(&place, MOVED_TABLES * PMD));
	from = place.mem + PMD - EDGE * PAGE;
	fill_moved(from);
	CHECK(start_refilling(&refiller, &place));
	CHECK(start_punching(&place));
	for (int i = 0; i < ROUNDS; i++)
		CHECK(move_fails(from, len));
	stop_punching(&place);
	stop_refilling(&refiller);
	drop_place(&place);
	return true;
}

TEST_F_TIMEOUT(neighbours, rolled_back, TIME_LIMIT)
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

static void come_and_go(char *page)
{
	WRITE_ONCE(*page, 1);
	madvise(page, PAGE, MADV_DONTNEED);
}

TEST_F_TIMEOUT(neighbours, one_page, TIME_LIMIT)
{
	struct flushes before, after;
	char *mem;

	if (vmstat("nr_tlb_local_flush_one") < 0)
		SKIP(return, "needs CONFIG_DEBUG_TLBFLUSH");
	table_window(0);
	mem = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, mem);
	before = count_flushes();
	for (long i = 0; i < TOUCHES; i++)
		come_and_go(mem + i % 512 * PAGE);
	after = count_flushes();
	TH_LOG("%ld pages: %lld full TLB flushes, %lld of one page", TOUCHES,
	       after.all - before.all, after.one - before.one);
	/* Other tasks run on this CPU, too. */
	EXPECT_GT(TOUCHES / 10, after.all - before.all);
	EXPECT_GE(TOUCHES * 2 + TOUCHES / 10, after.one - before.one);
}

TEST_HARNESS_MAIN
