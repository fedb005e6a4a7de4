// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty page tables that wait before they are freed: for how long, and that they are in no list any
 * more when something else becomes of them.
 *
 * The policy "adaptive":
 *
 * first           a table that is emptied for the first time is freed at once
 * came_back       one that is emptied again a moment later stays for a second, and is freed then
 * came_back_late  the same after five seconds; after twelve it is freed at once
 * short           reclaim frees tables that came back before their second is over
 * other_mm        what a process has freed says nothing of its child
 * lazyfree        reclaim empties tables of its own process: they are freed within two seconds
 *
 * Law 17, with the policy "pressure", which keeps tables in the list; the kernel must not complain:
 *
 * unmapped        munmap() and exit free tables that wait
 * collapsed       MADV_COLLAPSE puts a huge page in place of a table that waits, and deposits it
 * retracted       the same for shmem: the table is freed after a grace period
 * moved           mremap() moves a table that waits, whole and back; it is found at either place
 * switched_off    the switch is turned off while tables wait; stock frees them
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
#define NR_TABLES	16L
#define LEN		(NR_TABLES * PMD)
#define PLACES		4096L	/* where the memory may be */
#define ROUNDS		8
#define SEED		17
#define SECOND		0.8	/* so long, in seconds, nobody may free what waits */
#define TRIES		20	/* of what must not take longer than that */

/*
 * @arena, @mem: each test has its memory at another place, because the kernel may remember what the
 * last one freed there
 * @freed, @back, @waited: mm/unmap's counters, by note()
 * @log: the kernel's
 */
struct waits {
	char *arena, *mem;
	long long freed, back, waited;
	int log;
};

static void note(struct waits *w)
{
	w->freed = unmap_stat("tables_freed");
	w->back = unmap_stat("tables_came_back");
	w->waited = unmap_stat("tables_waited");
}

/* Tables that were freed, or came back, since note(). */
static long long freed(const struct waits *w)
{
	return unmap_stat("tables_freed") - w->freed;
}

static long long back(const struct waits *w)
{
	return unmap_stat("tables_came_back") - w->back;
}

static long long waited(const struct waits *w)
{
	return unmap_stat("tables_waited") - w->waited;
}

/* One page in each table. */
static void touch(char *mem)
{
	for (size_t at = 0; at < LEN; at += PMD)
		WRITE_ONCE(mem[at], 1);
}

/* In pieces: since Linux 6.18 stock frees a table that one call empties entirely. */
static bool purge(char *mem)
{
	for (size_t at = 0; at < LEN; at += PMD / 2)
		CHECK(!madvise(mem + at, PMD / 2, MADV_DONTNEED));
	return true;
}

static bool map_somewhere(struct waits *w)
{
	unsigned int seed = now() * 1e6;

	printf("# seed %u\n", seed);
	w->arena = map_aligned(PLACES * LEN, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	CHECK(w->arena != MAP_FAILED);
	w->mem = w->arena + rand_r(&seed) % PLACES * LEN;
	w->log = kmsg_open();
	CHECK(w->log >= 0);
	return true;
}

static const char *set_up(struct waits *w, const char *policy)
{
	const char *missing = begin_with(policy);

	if (missing)
		return missing;
	return map_somewhere(w) ? NULL : "no memory";
}

static void tear_down(struct waits *w)
{
	close(w->log);
	munmap(w->arena, PLACES * LEN);
	end();
}

FIXTURE(adaptive) {
	struct waits w;
};

FIXTURE_SETUP(adaptive)
{
	const char *missing = set_up(&self->w, "adaptive");

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(adaptive)
{
	tear_down(&self->w);
}

static bool goes_at_once(struct waits *w)
{
	touch(w->mem);
	note(w);
	CHECK(purge(w->mem));
	CHECK_EQ(NR_TABLES, freed(w));
	CHECK_EQ(0, back(w));
	return true;
}

TEST_LONG(adaptive, first)
{
	EXPECT_TRUE(goes_at_once(&self->w));
	EXPECT_EQ(0, waited(&self->w));
}

/* The tables come back, and are emptied again.  Sets @quick if that took less than their second. */
static bool come_back(struct waits *w, bool *quick)
{
	double began = now();
	long long gone;

	touch(w->mem);
	note(w);
	CHECK(purge(w->mem));
	CHECK_EQ(NR_TABLES, back(w));
	usleep(300000);
	gone = freed(w);
	*quick = now() - began < SECOND;
	CHECK(!*quick || !gone);
	CHECK_EQ(0, count_not_zero(w->mem, LEN / 2));
	return true;
}

/* Until a busy machine lets it be seen that the tables stay for a while. */
static bool stay_a_while(struct waits *w)
{
	bool quick = false;

	for (int i = 0; i < TRIES && !quick; i++) {
		CHECK(come_back(w, &quick));
		CHECK(purge(w->mem));
		AWAIT(freed(w) >= NR_TABLES);
	}
	CHECK(quick);
	return true;
}

TEST_LONG(adaptive, came_back)
{
	ASSERT_TRUE(goes_at_once(&self->w));
	usleep(100000);
	EXPECT_TRUE(stay_a_while(&self->w));
}

TEST_LONG(adaptive, came_back_late)
{
	ASSERT_TRUE(goes_at_once(&self->w));
	sleep(5);
	EXPECT_TRUE(stay_a_while(&self->w));
	sleep(12);
	EXPECT_TRUE(goes_at_once(&self->w));
}

/* The worker would free them, too: look until it was reclaim. */
static bool reclaim_frees(struct waits *w)
{
	double began;

	for (int i = 0; i < TRIES; i++) {
		began = now();
		touch(w->mem);
		note(w);
		CHECK(purge(w->mem));
		usleep(AGE);
		write_text("/proc/sys/vm/drop_caches", "2");
		if (now() - began < SECOND) {
			CHECK(freed(w) >= NR_TABLES);
			return true;
		}
	}
	printf("# this machine is too busy\n");
	return false;
}

TEST_LONG(adaptive, short)
{
	ASSERT_TRUE(goes_at_once(&self->w));
	EXPECT_TRUE(reclaim_frees(&self->w));
}

TEST_LONG(adaptive, other_mm)
{
	int status;
	pid_t child;

	ASSERT_TRUE(goes_at_once(&self->w));
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		bool well = goes_at_once(&self->w);

		fflush(stdout);
		_exit(!well);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_LONG(adaptive, lazyfree)
{
	double began;

	touch(self->w.mem);
	note(&self->w);
	ASSERT_EQ(0, madvise(self->w.mem, LEN, MADV_FREE));
	began = now();
	ASSERT_EQ(0, madvise(self->w.mem, LEN, MADV_PAGEOUT));
	while (freed(&self->w) < NR_TABLES && now() - began < TIME_LIMIT / 2)
		usleep(10000);
	TH_LOG("freed after %.1f s", now() - began);
	EXPECT_LE(NR_TABLES, freed(&self->w));
	EXPECT_LE(NR_TABLES, waited(&self->w));
}

/* Law 17. */

FIXTURE(pressure) {
	struct waits w;
};

FIXTURE_SETUP(pressure)
{
	const char *missing = set_up(&self->w, "pressure");

	if (missing)
		SKIP(return, "%s", missing);
}

FIXTURE_TEARDOWN(pressure)
{
	tear_down(&self->w);
}

/* Have tables in the list; then all of what waits is looked at, and freed. */
static bool list(struct waits *w)
{
	long long before = unmap_stat("tables_waited");

	touch(w->mem);
	CHECK(purge(w->mem));
	CHECK_EQ(NR_TABLES, unmap_stat("tables_waited") - before);
	return true;
}

static bool is_calm(const struct waits *w)
{
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
	reclaim_all(MIB);
	CHECK(kernel_is_calm(w->log));
	return true;
}

static bool ends_with_child(struct waits *w)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child)
		_exit(!list(w));
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(0, status);
	return true;
}

TEST_LONG(pressure, unmapped)
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(list(&self->w));
		ASSERT_EQ(0, munmap(self->w.mem, LEN));
		ASSERT_EQ(self->w.mem, mmap(self->w.mem, LEN, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
		ASSERT_TRUE(ends_with_child(&self->w));
	}
	EXPECT_TRUE(is_calm(&self->w));
}

/* Fill tables that wait, and have huge pages in their place; the tables are deposited then. */
static bool collapse(struct waits *w)
{
	CHECK(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	CHECK(list(w));
	fill(w->mem, LEN, SEED);
	CHECK_EQ(0, smaps_kib(w->mem, LEN, "AnonHugePages"));
	CHECK(!prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0));
	CHECK(make_huge_pages(w->mem, LEN));
	CHECK_EQ(0, count_wrong(w->mem, LEN, SEED));
	/* Deposited tables come back into use. */
	for (size_t at = 0; at < LEN; at += 2 * PMD)
		CHECK(!madvise(w->mem + at, PAGE, MADV_DONTNEED));
	return true;
}

TEST_LONG(pressure, collapsed)
{
	if (!folio_size_set(PMD / KIB))
		SKIP(return, "needs transparent huge pages");
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(collapse(&self->w));
		ASSERT_EQ(0, madvise(self->w.mem, LEN, MADV_DONTNEED));
		ASSERT_TRUE(is_calm(&self->w));
	}
}

/* Another mapping of the file is collapsed, and ours loses its tables, which waited. */
static bool retract(struct waits *w, int fd, char *other)
{
	CHECK(mmap(w->mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == w->mem);
	CHECK(list(w));
	CHECK(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	fill(other, LEN, SEED);
	CHECK(make_huge_pages(other, LEN));
	CHECK_EQ(0, count_wrong(w->mem, LEN, SEED));
	return true;
}

TEST_LONG(pressure, retracted)
{
	int fd = memfd_create("waits", MFD_CLOEXEC);
	char *other;

	if (!collapse_ignores_sysfs())
		SKIP(return, COLLAPSE_ASKS);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, LEN));
	other = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	ASSERT_NE(MAP_FAILED, other);
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(retract(&self->w, fd, other));
		ASSERT_EQ(0, ftruncate(fd, 0));
		ASSERT_EQ(0, ftruncate(fd, LEN));
	}
	EXPECT_TRUE(is_calm(&self->w));
	close(fd);
}

static bool move(char **mem, char *to)
{
	CHECK(mremap(*mem, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	*mem = to;
	return true;
}

/* Tables that wait are moved; they are emptied again there, or have been moved back by then. */
static bool move_waiting(struct waits *w, char *to, bool back)
{
	char *from = w->mem;

	CHECK(list(w));
	CHECK(move(&w->mem, to));
	if (back)
		CHECK(move(&w->mem, from));
	note(w);
	CHECK(is_calm(w));
	CHECK(freed(w) >= NR_TABLES);
	fill(w->mem, LEN, SEED);
	CHECK_EQ(0, count_wrong(w->mem, LEN, SEED));
	CHECK(is_calm(w));
	CHECK_EQ(0, count_wrong(w->mem, LEN, SEED));
	note(w);
	CHECK(!madvise(w->mem, LEN, MADV_DONTNEED));
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
	CHECK(freed(w) >= NR_TABLES);
	return true;
}

TEST_LONG(pressure, moved)
{
	char *places[2] = { self->w.mem, self->w.mem + (PLACES / 2) * LEN };

	if (places[1] >= self->w.arena + PLACES * LEN)
		places[1] -= PLACES * LEN;
	for (int i = 0; i < ROUNDS; i++)
		ASSERT_TRUE(move_waiting(&self->w, places[self->w.mem == places[0]], i % 2));
	EXPECT_TRUE(is_calm(&self->w));
}

static bool map_again(const struct waits *w)
{
	return mmap(w->mem, LEN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == w->mem;
}

TEST_LONG(pressure, switched_off)
{
	for (int i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(list(&self->w));
		ASSERT_TRUE(switch_all(false));
		touch(self->w.mem);
		/* Since Linux 6.18 this frees the tables. */
		ASSERT_EQ(0, madvise(self->w.mem, LEN, MADV_DONTNEED));
		if (i % 2)
			ASSERT_EQ(0, munmap(self->w.mem, LEN));
		ASSERT_TRUE(switch_all(true));
		EXPECT_TRUE(is_calm(&self->w));
		if (i % 2)
			ASSERT_TRUE(map_again(&self->w));
	}
}

TEST_HARNESS_MAIN
