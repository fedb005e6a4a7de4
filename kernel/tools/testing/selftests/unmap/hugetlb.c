// SPDX-License-Identifier: GPL-2.0-only
/*
 * arm64 maps a small hugetlb page (64 KiB, if pages have 4) by entries of an ordinary page
 * table.  hugetlb uses them without looking whether the table is still there, so such a table
 * stays (law 8).
 *
 * touched     after a hugetlb page was in a table, the table stays when it is empty
 * untouched   a table beside hugetlb memory that was never touched is given back
 * filled      hugetlb pages come and go, and keep their content, while another thread empties
 *             the rest of the table: in each round with new tables
 * protected   userfaultfd write-protects absent hugetlb memory while the table is given back:
 *             the protection must not be lost
 *
 * These two last RACE_SECONDS (5).  unmap.window makes the races wider.
 *
 * forked      a child has what hugetlb memory holds that it has not shared: fork() must not take a
 *             page that was a page table, or is one, for a shared page of PMDs.  With 1 GiB on x86
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT	26
#endif

#define POOL_PAGES	8
/* Whose entries are in another table than those of PMD_SIZE. */
#ifdef __x86_64__
#define COPIED		(1024 * MIB)
#else
#define COPIED		HUGE
#endif
#define FORKS		20
#define TABLES		64UL
/* A contiguous block: 16, 128 or 32 entries, if pages have 4, 16 or 64 KiB. */
#define HUGE		(1UL << HUGE_LOG2)
#define HUGE_LOG2	(PAGE == 4 * KIB ? 16 : 21)
#define HUGE_AT		(5 * HUGE)	/* in the table */
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
#define SECONDS		5
#define ROUND		2000	/* microseconds */
#define WINDOW		300	/* microseconds */
#define SEED		47

FIXTURE(hugetlb) {
	struct scene scene;	/* for apart() */
	char path[80];		/* of the size of the pool */
	long long pool;
};

FIXTURE_VARIANT(hugetlb) {
	bool on;
};

FIXTURE_VARIANT_ADD(hugetlb, on) { .on = true };
FIXTURE_VARIANT_ADD(hugetlb, off) { .on = false };

FIXTURE_SETUP(hugetlb)
{
	const char *missing = begin(PAGE / KIB, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	snprintf(self->path, sizeof(self->path),
		 "/sys/kernel/mm/hugepages/hugepages-%lukB/nr_hugepages", HUGE / KIB);
	self->pool = read_field(self->path, "");
	if (self->pool < 0 || HUGE == PMD)
		missing = "needs hugetlb pages that are contiguous blocks (arm64)";
	else if (variant->on && !switch_has(UNMAP_TABLES))
		missing = "this kernel gives no page tables back";
	else if (!write_number(self->path, self->pool + POOL_PAGES))
		missing = "cannot enlarge the pool of hugetlb pages";
	if (missing) {
		end();
		SKIP(return, "%s", missing);
	}
}

FIXTURE_TEARDOWN(hugetlb)
{
	table_window(0);
	write_number(self->path, self->pool);
	end();
}

/* One table: ordinary memory, and one hugetlb page in it. */
struct shared {
	char *mem, *huge;
};

static bool map_shared(struct shared *s)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	s->mem = map_aligned(PMD, PROT_READ | PROT_WRITE, flags, -1);
	CHECK(s->mem != MAP_FAILED);
	s->huge = mmap(s->mem + HUGE_AT, HUGE, PROT_READ | PROT_WRITE,
		       flags | MAP_FIXED | MAP_HUGETLB | HUGE_LOG2 << MAP_HUGE_SHIFT, -1, 0);
	CHECK(s->huge == s->mem + HUGE_AT);
	return true;
}

static void unmap_shared(const struct shared *s)
{
	munmap(s->huge, HUGE);
	munmap(s->mem, PMD);
}

/* A page comes to the ordinary memory, and goes. */
static bool use_ordinary(char *mem, unsigned char byte)
{
	WRITE_ONCE(*mem, byte);
	CHECK_EQ(byte, READ_ONCE(*mem));
	CHECK(!madvise(mem, PAGE, MADV_DONTNEED));
	return true;
}

static bool touched(struct scene *scene)
{
	struct shared s;
	long long freed;

	CHECK(map_shared(&s));
	fill(s.huge, HUGE, SEED);
	CHECK(!madvise(s.huge, HUGE, MADV_DONTNEED));
	freed = unmap_stat("tables_freed");
	CHECK(use_ordinary(s.mem, 1));
	CHECK_EQ(freed, unmap_stat("tables_freed"));
	CHECK_EQ(0, count_not_zero(s.huge, HUGE));
	fill(s.huge, HUGE, SEED);
	CHECK(use_ordinary(s.mem, 2));
	CHECK_EQ(0, count_wrong(s.huge, HUGE, SEED));
	unmap_shared(&s);
	return true;
}

TEST_LONG(hugetlb, touched)
{
	EXPECT_TRUE(apart(touched, &self->scene));
}

static bool untouched(struct scene *scene)
{
	struct shared s;
	long long freed;

	CHECK(map_shared(&s));
	freed = unmap_stat("tables_freed");
	CHECK(use_ordinary(s.mem, 1));
	if (switch_has(UNMAP_TABLES))
		CHECK_EQ(freed + 1, unmap_stat("tables_freed"));
	fill(s.huge, HUGE, SEED);
	CHECK(use_ordinary(s.mem, 2));
	CHECK_EQ(0, count_wrong(s.huge, HUGE, SEED));
	unmap_shared(&s);
	return true;
}

TEST_LONG(hugetlb, untouched)
{
	EXPECT_TRUE(apart(untouched, &self->scene));
}

/* A thread on another CPU that empties the ordinary memory of the table all the time. */
struct emptier {
	pthread_t thread;
	char *mem;
	bool stop, failed;
};

static void *empty(void *arg)
{
	struct emptier *e = arg;

	use_cpu(1);
	for (unsigned char byte = 1; !READ_ONCE(e->stop); byte++)
		if (!use_ordinary(e->mem, byte))
			e->failed = true;
	return NULL;
}

/* What is done to the table meanwhile; @uffd watches the hugetlb page. */
typedef bool meanwhile(const struct shared *s, int uffd, int round);

static bool one_round(meanwhile *act, int round)
{
	struct emptier e = {};
	struct shared s;
	bool done;
	int uffd;

	CHECK(map_shared(&s));
	uffd = uffd_open(s.huge, HUGE);
	CHECK(uffd >= 0);
	e.mem = s.mem;
	CHECK(!pthread_create(&e.thread, NULL, empty, &e));
	usleep(ROUND + round % 64 * 10);
	done = act(&s, uffd, round);
	WRITE_ONCE(e.stop, true);
	pthread_join(e.thread, NULL);
	CHECK(!e.failed);
	close(uffd);
	unmap_shared(&s);
	return done;
}

static bool race(meanwhile *act)
{
	time_t end = time(NULL) + from_env("RACE_SECONDS", SECONDS);

	table_window(WINDOW);
	for (int round = 0; time(NULL) < end || round < 2; round++)
		CHECK(one_round(act, round));
	return true;
}

static bool fill_huge(const struct shared *s, int uffd, int round)
{
	for (int i = 0; i < 4; i++) {
		fill(s->huge, HUGE, round + i);
		CHECK_EQ(0, count_wrong(s->huge, HUGE, round + i));
		CHECK(!madvise(s->huge, HUGE, MADV_DONTNEED));
		CHECK_EQ(0, count_not_zero(s->huge, HUGE));
	}
	return true;
}

static bool filled(struct scene *scene)
{
	return race(fill_huge);
}

TEST_LONG(hugetlb, filled)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_TRUE(apart(filled, &self->scene));
}

static bool protect_huge(const struct shared *s, int uffd, int round)
{
	CHECK(uffd_protect(uffd, s->huge, HUGE, true));
	CHECK(!try_write(s->huge, 1));
	CHECK(uffd_protect(uffd, s->huge, HUGE, false));
	CHECK(try_write(s->huge, 1));
	return true;
}

static bool protected(struct scene *scene)
{
	return race(protect_huge);
}

TEST_LONG(hugetlb, protected)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two CPUs");
	EXPECT_TRUE(apart(protected, &self->scene));
}

FIXTURE(forked) {
	struct scene scene;
	char path[80];
	long long pool;
};

FIXTURE_VARIANT(forked) {
	bool on;
};

FIXTURE_VARIANT_ADD(forked, on) { .on = true };
FIXTURE_VARIANT_ADD(forked, off) { .on = false };

FIXTURE_SETUP(forked)
{
	const char *missing = begin(PAGE / KIB, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	snprintf(self->path, sizeof(self->path),
		 "/sys/kernel/mm/hugepages/hugepages-%lukB/nr_hugepages", COPIED / KIB);
	self->pool = read_field(self->path, "");
	if (self->pool < 0 || !write_number(self->path, self->pool + 1) ||
	    read_field(self->path, "") <= self->pool) {
		end();
		SKIP(return, "needs a hugetlb page of %lu KiB", COPIED / KIB);
	}
}

FIXTURE_TEARDOWN(forked)
{
	write_number(self->path, self->pool);
	end();
}

/* Page tables come, and go: the child's tables will be made of their pages. */
static bool use_tables(void)
{
	char *mem = map_aligned(TABLES * PMD, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1);

	CHECK(mem != MAP_FAILED);
	for (size_t at = 0; at < TABLES * PMD; at += PMD)
		CHECK(use_ordinary(mem + at, 1));
	usleep(50000);		/* a grace period */
	munmap(mem, TABLES * PMD);
	return true;
}

static bool child_has(const char *huge)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child)
		_exit(count_wrong(huge, 64 * KIB, SEED) != 0);
	CHECK_EQ(child, waitpid(child, &status, 0));
	CHECK_EQ(0, status);
	return true;
}

static bool forked(struct scene *scene)
{
	char *huge = mmap(NULL, COPIED, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB |
			  __builtin_ctzl(COPIED) << MAP_HUGE_SHIFT, -1, 0);

	CHECK(huge != MAP_FAILED);
	fill(huge, 64 * KIB, SEED);
	for (int i = 0; i < FORKS; i++) {
		CHECK(use_tables());
		CHECK(child_has(huge));
	}
	munmap(huge, COPIED);
	return true;
}

TEST_LONG(forked, content)
{
	EXPECT_TRUE(apart(forked, &self->scene));
}

TEST_HARNESS_MAIN
