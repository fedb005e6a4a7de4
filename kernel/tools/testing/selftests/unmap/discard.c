// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory whose range goes away: MADV_DONTNEED, munmap(), exit, hole punch.
 *
 * content        what is discarded is gone, or is the file's again; neighbours stay (law 2)
 * full_gather    the same where the gather has no room for more than a few pages
 * mixed          tables with entries of every kind, pieces of any size (seed printed)
 * statistics     anon, file_mapped and shmem of the control group fall by what went (law 4)
 * exits          a process that ends leaves no counter behind (law 4)
 * dirty          shmem that only its entries know to be written is not lost with them
 * image          what was written through mappings that went is in the files after
 *                unmount (XFS knows since the write fault)
 * twice          a folio mapped in two places goes from one of them only
 * mlocked        MADV_DONTNEED_LOCKED takes locked pages off the count of locked ones
 * uffd_wp        shmem stays write-protected when it is discarded, page by page
 * cowed          private copies stay when a hole is punched in the file below
 * faulted        while another CPU faults pages in
 * stale          no CPU reads through an old translation what was discarded (law 1)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "fault_util.h"
#include "unmap_util.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif

#define LEN		PMD
#define PAGES		((long)(LEN / PAGE))
#define SEED		41
#define OTHER		42
#define ROUNDS		48
#define SECONDS		2
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

/* Each CPU may hold back a batch of a counter's changes. */
#define SLACK	((long)(64 * sysconf(_SC_NPROCESSORS_ONLN)))

enum backing { PRIVATE, SHARED_MEMORY, SHARED_FILE, COPIED };

static int open_backing(enum backing backing, unsigned long kib)
{
	int fd;

	if (backing == SHARED_FILE || backing == COPIED)
		return xfs_file(LEN, SEED, kib);
	fd = memfd_create("unmap", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, LEN) ? fd : -1;
}

/* LEN bytes, filled, and written through the mapping. */
static char *map_backing(enum backing backing, int fd)
{
	int flags = backing == PRIVATE ? MAP_PRIVATE | MAP_ANONYMOUS :
		    backing == COPIED ? MAP_PRIVATE : MAP_SHARED;
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, flags,
				backing == PRIVATE ? -1 : fd);

	if (mem == MAP_FAILED)
		return NULL;
	fill(mem, LEN, backing == COPIED ? OTHER : SEED);
	return mem;
}

struct memory {
	int fd;
	char *mem;
};

/* Null, or what is missing. */
static const char *prepare(struct memory *memory, enum backing backing, unsigned long kib,
			   bool on)
{
	const char *missing = begin(kib, on);

	if (missing)
		return missing;
	memory->fd = open_backing(backing, kib);
	memory->mem = memory->fd < 0 ? NULL : map_backing(backing, memory->fd);
	if (memory->mem)
		return NULL;
	end();
	return "needs XFS at /mnt";
}

#define MEMORY_FIXTURE(name)							\
	FIXTURE(name) {								\
		struct memory memory;						\
		char *mem;							\
		int fd;								\
	};									\
	FIXTURE_VARIANT(name) {							\
		enum backing backing;						\
		unsigned long kib;						\
		bool on;							\
	};									\
	FIXTURE_SETUP(name)							\
	{									\
		const char *missing = prepare(&self->memory, variant->backing,	\
					      variant->kib, variant->on);	\
										\
		if (missing)							\
			SKIP(return, "%s", missing);				\
		self->mem = self->memory.mem;					\
		self->fd = self->memory.fd;					\
	}									\
	FIXTURE_TEARDOWN(name)							\
	{									\
		close(self->fd);						\
		end();								\
	}

#define VARIANTS(name, prefix, what, size)					\
	FIXTURE_VARIANT_ADD(name, prefix ## _ ## size ## K_on) {		\
		.backing = what, .kib = size, .on = true };			\
	FIXTURE_VARIANT_ADD(name, prefix ## _ ## size ## K_off) {		\
		.backing = what, .kib = size }

MEMORY_FIXTURE(discard);
VARIANTS(discard, anon, PRIVATE, 4);
VARIANTS(discard, anon, PRIVATE, 64);
VARIANTS(discard, anon, PRIVATE, 1024);
VARIANTS(discard, shmem, SHARED_MEMORY, 4);
VARIANTS(discard, shmem, SHARED_MEMORY, 64);
VARIANTS(discard, file, SHARED_FILE, 64);
VARIANTS(discard, copied, COPIED, 64);

/* What a page reads as once it was discarded. */
static bool page_discarded(enum backing backing, const char *mem, long page)
{
	unsigned char byte = backing == PRIVATE ? 0 : fill_byte(page, SEED);

	return page_is(mem + page * PAGE, byte);
}

static bool page_kept(enum backing backing, const char *mem, long page)
{
	return page_is(mem + page * PAGE,
		       fill_byte(page, backing == COPIED ? OTHER : SEED));
}

/* Pages [from, to) were discarded: how many of all do not read as they should? */
static long wrong_after(enum backing backing, const char *mem, long from, long to)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += i >= from && i < to ? !page_discarded(backing, mem, i) :
					       !page_kept(backing, mem, i);
	return wrong;
}

static bool discard_pages(char *mem, long from, long to)
{
	return !madvise(mem + from * PAGE, (to - from) * PAGE, MADV_DONTNEED);
}

TEST_F(discard, content)
{
	static const long cuts[][2] = { { 0, PAGES }, { 3, 5 }, { 15, 17 }, { 1, PAGES - 1 },
					{ 16, 32 }, { 100, 333 }, { PAGES - 1, PAGES } };

	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		long from = cuts[i][0], to = cuts[i][1];

		/* Where page zero was read, only single pages would come. */
		ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
		fill(self->mem, LEN, variant->backing == COPIED ? OTHER : SEED);
		ASSERT_TRUE(discard_pages(self->mem, from, to));
		EXPECT_EQ(0, count_pages(self->mem + from * PAGE, (to - from) * PAGE,
					 PM_PRESENT | PM_SWAP));
		EXPECT_EQ(0, wrong_after(variant->backing, self->mem, from, to)) {
			TH_LOG("after discarding [%ld, %ld)", from, to);
		}
	}
}

TEST_F_TIMEOUT(discard, full_gather, TIME_LIMIT)
{
	long failed = 0;

	if (access("/sys/kernel/debug/fail_page_alloc", F_OK))
		SKIP(return, "needs CONFIG_FAIL_PAGE_ALLOC");
	for (long from = 0; from < 12; from++) {
		fill(self->mem, LEN, variant->backing == COPIED ? OTHER : SEED);
		ASSERT_TRUE(faults_on("fail_page_alloc", "zap_page_range_single", 100));
		EXPECT_TRUE(discard_pages(self->mem, from, PAGES - from / 2));
		failed += faults_off("fail_page_alloc");
		EXPECT_EQ(0, wrong_after(variant->backing, self->mem, from, PAGES - from / 2));
	}
	EXPECT_LT(0, failed);
}

/* A counter of the control group, in pages. */
static long long pages_charged(enum backing backing)
{
	static const char * const names[] = { "anon", "file_mapped", "file_mapped", "anon" };

	return cgroup_stat(names[backing]) / (long long)PAGE;
}

TEST_F_TIMEOUT(discard, statistics, TIME_LIMIT)
{
	long long before = pages_charged(variant->backing), rss;

	for (int round = 0; round < ROUNDS; round++) {
		fill(self->mem, LEN, SEED);
		for (long i = 0; i < PAGES; i += PAGES / 8)
			ASSERT_TRUE(discard_pages(self->mem, i, i + PAGES / 8));
	}
	EXPECT_GE(SLACK, llabs(pages_charged(variant->backing) - (before - PAGES)));
	fill(self->mem, LEN, SEED);
	EXPECT_GE(SLACK, llabs(pages_charged(variant->backing) - before));
	rss = status_pages("VmRSS");
	ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
	EXPECT_GE(SLACK, llabs(status_pages("VmRSS") - (rss - PAGES)));
}

TEST_F(discard, exits)
{
	long long before = pages_charged(variant->backing);
	int log = kmsg_open(), status;
	pid_t pid;

	for (int i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			char *mem = map_backing(variant->backing, self->fd);

			if (i & 1)
				discard_pages(mem, 5 * i, 99);
			_exit(!mem);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_TRUE(kernel_is_calm(log));
	EXPECT_GE(SLACK, llabs(pages_charged(variant->backing) - before));
}

TEST_F(discard, mlocked)
{
	long long locked = vmstat("nr_mlock");

	ASSERT_EQ(0, mlock(self->mem, LEN));
	EXPECT_NE(0, madvise(self->mem, LEN, MADV_DONTNEED));
	EXPECT_LE(PAGES - SLACK, vmstat("nr_mlock") - locked);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DONTNEED_LOCKED));
	EXPECT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT));
	EXPECT_GE(SLACK, vmstat("nr_mlock") - locked);
}

MEMORY_FIXTURE(shared);
VARIANTS(shared, shmem, SHARED_MEMORY, 4);
VARIANTS(shared, shmem, SHARED_MEMORY, 64);
VARIANTS(shared, file, SHARED_FILE, 4);
VARIANTS(shared, file, SHARED_FILE, 64);

/* Pages [from, to) should be mapped here only, all others in two places. */
static long wrong_mapcounts(const char *mem, long from, long to)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += page_mapcount(mem + i * PAGE) != (i >= from && i < to ? 1 : 2);
	return wrong;
}

TEST_F_TIMEOUT(shared, twice, TIME_LIMIT)
{
	char *twin = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd);

	ASSERT_NE(MAP_FAILED, twin);
	ASSERT_EQ(0, madvise(twin, LEN, MADV_POPULATE_READ));
	ASSERT_TRUE(discard_pages(self->mem, 7, 77));
	EXPECT_EQ(PAGES, count_pages(twin, LEN, PM_PRESENT));
	EXPECT_EQ(0, wrong_mapcounts(twin, 7, 77));
	EXPECT_EQ(0, count_wrong(twin, LEN, SEED));
	EXPECT_EQ(0, wrong_after(variant->backing, self->mem, 7, 77));
}

TEST_F(shared, uffd_wp)
{
	long told = 0, silent = 0;
	int uffd;

	if (variant->backing != SHARED_MEMORY)
		SKIP(return, "only shmem can be write-protected");
	uffd = uffd_open(self->mem, LEN);
	if (uffd < 0)
		SKIP(return, "needs userfaultfd write-protection for shmem");
	/* Whole folios, and parts of some. */
	for (long i = 0; i < PAGES; i += 64)
		ASSERT_TRUE(uffd_protect(uffd, self->mem + i * PAGE, 21 * PAGE, true));
	ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
	for (long i = 0; i < PAGES; i++) {
		bool wrote = try_write(self->mem + i * PAGE, 1);

		told += i % 64 < 21 && !wrote;
		silent += i % 64 >= 21 && wrote;
	}
	EXPECT_EQ(PAGES / 64 * 21, told);
	EXPECT_EQ(PAGES - PAGES / 64 * 21, silent);
	close(uffd);
}

/* Written through a mapping, in a process of its own, and left in one way or the other. */

static char *map_written(struct scene *scene)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, scene->fd);

	if (mem == MAP_FAILED || madvise(mem, LEN, MADV_POPULATE_READ))
		return NULL;
	fill(mem, LEN, OTHER);
	return mem;
}

static bool leave_discarded(struct scene *scene)
{
	char *mem = map_written(scene);

	return mem && discard_pages(mem, 0, PAGES);
}

static bool leave_unmapped(struct scene *scene)
{
	char *mem = map_written(scene);

	return mem && !munmap(mem, LEN);
}

static bool leave_by_exit(struct scene *scene)
{
	return map_written(scene);
}

static bool (* const leave[])(struct scene *scene) = {
	leave_discarded, leave_unmapped, leave_by_exit,
};

/* In memory, mapped or not. */
static long pages_cached(char *mem)
{
	unsigned char cached[PAGES];
	long found = 0;

	if (mincore(mem, LEN, cached))
		return -1;
	for (long i = 0; i < PAGES; i++)
		found += cached[i] & 1;
	return found;
}

MEMORY_FIXTURE(shmem);
VARIANTS(shmem, shmem, SHARED_MEMORY, 4);
VARIANTS(shmem, shmem, SHARED_MEMORY, 64);

/*
 * Reading fills holes with clean folios and maps them writable: a write after that
 * tells nobody but the entry.
 */
TEST_F_TIMEOUT(shmem, dirty, TIME_LIMIT)
{
	struct scene scene = { .fd = self->fd };

	if (!swap_is_on())
		SKIP(return, "needs swap");
	ASSERT_EQ(0, munmap(self->mem, LEN));
	for (size_t i = 0; i < ARRAY_SIZE(leave); i++) {
		ASSERT_EQ(0, fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       0, LEN));
		ASSERT_TRUE(apart(leave[i], &scene));
		self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd);
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_POPULATE_READ));
		ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
		EXPECT_EQ(0, pages_cached(self->mem));
		EXPECT_EQ(0, count_wrong(self->mem, LEN, OTHER)) {
			TH_LOG("left in way %zu", i);
		}
		munmap(self->mem, LEN);
	}
}

/* After unmount. */

static void file_name(char path[32], size_t number)
{
	snprintf(path, 32, "/mnt/discard-%zu", number);
}

/* What is mounted there. */
static bool device_of(const char *dir, char device[64])
{
	char line[256], where[64];
	FILE *mounts = fopen("/proc/mounts", "r");
	bool found = false;

	while (mounts && !found && fgets(line, sizeof(line), mounts))
		found = sscanf(line, "%63s %63s", device, where) == 2 && !strcmp(where, dir);
	if (mounts)
		fclose(mounts);
	return found;
}

/* Nothing of it is cached. */
static long wrong_in_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *mem = fd < 0 ? MAP_FAILED : mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);
	long wrong = PAGES;

	if (mem != MAP_FAILED && lseek(fd, 0, SEEK_END) == (off_t)LEN)
		wrong = count_wrong(mem, LEN, OTHER);
	if (mem != MAP_FAILED)
		munmap(mem, LEN);
	if (fd >= 0)
		close(fd);
	return wrong;
}

FIXTURE(image) {
	char device[64];
};

FIXTURE_VARIANT(image) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(image, 4);
SIZE_VARIANTS(image, 64);

FIXTURE_SETUP(image)
{
	const char *missing = begin(variant->kib, variant->on);

	if (missing)
		SKIP(return, "%s", missing);
	if (device_of("/mnt", self->device))
		return;
	end();
	SKIP(return, "needs a disk at /mnt");
}

FIXTURE_TEARDOWN(image)
{
	end();
}

TEST_F_TIMEOUT(image, image, TIME_LIMIT)
{
	struct scene scene;
	char path[32];

	for (size_t i = 0; i < ARRAY_SIZE(leave); i++) {
		file_name(path, i);
		scene.fd = xfs_file_named(path, LEN, SEED, variant->kib);
		if (scene.fd < 0)
			SKIP(return, "needs XFS at /mnt");
		ASSERT_TRUE(apart(leave[i], &scene));
		close(scene.fd);
	}
	if (umount("/mnt"))
		SKIP(return, "/mnt is busy");
	ASSERT_EQ(0, mount(self->device, "/mnt", "xfs", 0, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(leave); i++) {
		file_name(path, i);
		EXPECT_EQ(0, wrong_in_file(path)) {
			TH_LOG("left in way %zu", i);
		}
		unlink(path);
	}
}

MEMORY_FIXTURE(copied);
VARIANTS(copied, file, COPIED, 4);
VARIANTS(copied, file, COPIED, 64);

TEST_F(copied, cowed)
{
	ASSERT_TRUE(discard_pages(self->mem, 64, 128));
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_POPULATE_READ));
	ASSERT_EQ(0, fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	for (long i = 0; i < PAGES; i++) {
		bool hole = i >= 64 && i < 128;

		ASSERT_TRUE(hole ? page_is(self->mem + i * PAGE, 0) :
				   page_kept(COPIED, self->mem, i)) {
			TH_LOG("page %ld", i);
		}
	}
}

/* One table of anonymous memory with all that it can hold. */

enum entry { NOTHING, SMALL, LARGE, ZERO_PAGE, SWAPPED, FREED, NR_ENTRIES };

struct table {
	char *mem;
	unsigned int seed;
	bool full[PAGES];	/* holds fill(): otherwise zeroes */
};

static void fill_entries(struct table *table, long from, long nr, bool large)
{
	folio_size_set(large ? 64 : 4);
	for (long i = from; i < from + nr; i++) {
		memset(table->mem + i * PAGE, fill_byte(i, SEED), PAGE);
		table->full[i] = true;
	}
}

static void make_entries(struct table *table, long from, long nr, enum entry entry)
{
	char *mem = table->mem + from * PAGE;

	if (entry == NOTHING)
		return;
	if (entry == ZERO_PAGE) {
		folio_size_set(4);
		for (long i = 0; i < nr; i++)
			READ_ONCE(mem[i * PAGE]);
		return;
	}
	fill_entries(table, from, nr, entry == LARGE || rand_r(&table->seed) % 2);
	if (entry == SWAPPED)
		madvise(mem, nr * PAGE, MADV_PAGEOUT);
	if (entry == FREED) {
		madvise(mem, nr * PAGE, MADV_FREE);
		/* Written again: must stay. */
		fill_entries(table, from, nr, false);
	}
}

static void make_table(struct table *table)
{
	for (long at = 0, nr; at < PAGES; at += nr) {
		nr = 1 + rand_r(&table->seed) % (rand_r(&table->seed) % 2 ? 4 : 48);
		if (at + nr > PAGES)
			nr = PAGES - at;
		make_entries(table, at, nr, rand_r(&table->seed) % NR_ENTRIES);
	}
}

static long wrong_in_table(const struct table *table)
{
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		wrong += !page_is(table->mem + i * PAGE,
				  table->full[i] ? fill_byte(i, SEED) : 0);
	return wrong;
}

static bool discard_piece(struct table *table)
{
	long from = rand_r(&table->seed) % PAGES;
	long nr = 1 + rand_r(&table->seed) % (rand_r(&table->seed) % 2 ? 8 : PAGES);

	if (from + nr > PAGES)
		nr = PAGES - from;
	memset(table->full + from, 0, nr * sizeof(table->full[0]));
	return discard_pages(table->mem, from, from + nr);
}

static bool mixed_table(struct scene *scene)
{
	struct table table = { .seed = time(NULL) ^ getpid() };

	printf("# seed %u\n", table.seed);
	for (int round = 0; round < 8; round++) {
		memset(table.full, 0, sizeof(table.full));
		table.mem = map_aligned(LEN, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1);
		CHECK(table.mem != MAP_FAILED);
		make_table(&table);
		for (int i = 0; i < 6; i++)
			CHECK(discard_piece(&table));
		CHECK_EQ(0, wrong_in_table(&table));
		if (round % 2)
			CHECK(!munmap(table.mem, LEN));
	}
	return true;
}

MEMORY_FIXTURE(anon);
VARIANTS(anon, anon, PRIVATE, 4);
VARIANTS(anon, anon, PRIVATE, 64);

/* In a process of its own, at whose end all counters must be zero. */
TEST_F_TIMEOUT(anon, mixed, TIME_LIMIT)
{
	struct scene nothing = { .fd = -1 };

	EXPECT_TRUE(apart(mixed_table, &nothing));
}

/* Two CPUs. */

struct toucher {
	pthread_t thread;
	char *mem;
	bool *stop;
	unsigned long gone;	/* stamps up to this one were discarded */
	long wrong, rounds;
	bool writes;
};

static bool second_cpu(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

/* What it wrote, or zero: nobody else writes. */
static void *write_stamps(void *arg)
{
	struct toucher *toucher = arg;

	use_cpu(1);
	for (; !READ_ONCE(*toucher->stop); toucher->rounds++) {
		unsigned long stamp = toucher->rounds + 1;

		for (long i = 0; i < PAGES; i++) {
			unsigned long *at = (unsigned long *)(toucher->mem + i * PAGE), seen;

			WRITE_ONCE(*at, stamp);
			seen = READ_ONCE(*at);
			toucher->wrong += seen && seen != stamp;
		}
	}
	return NULL;
}

/* What was discarded before is never seen. */
static void *read_stamps(void *arg)
{
	struct toucher *toucher = arg;

	use_cpu(1);
	for (; !READ_ONCE(*toucher->stop); toucher->rounds++) {
		unsigned long gone = __atomic_load_n(&toucher->gone, __ATOMIC_ACQUIRE), seen;

		for (long i = 0; i < 16; i++) {
			seen = READ_ONCE(*(unsigned long *)(toucher->mem + i * PAGE));
			toucher->wrong += seen && seen <= gone;
		}
	}
	return NULL;
}

/* Discards as long as it takes; returns how often. */
static long discard_stamped(struct toucher *toucher)
{
	long rounds = 0;

	for (time_t end = time(NULL) + SECONDS; time(NULL) < end || toucher->rounds < 4; rounds++) {
		unsigned long stamp = rounds + 1;

		for (long i = 0; i < 16 && !toucher->writes; i++)
			WRITE_ONCE(*(unsigned long *)(toucher->mem + i * PAGE), stamp);
		if (!discard_pages(toucher->mem, 0, toucher->writes ? PAGES : 16))
			return -1;
		__atomic_store_n(&toucher->gone, stamp, __ATOMIC_RELEASE);
	}
	return rounds;
}

static bool with_toucher(char *mem, bool writes)
{
	bool stop = false;
	struct toucher toucher = { .mem = mem, .stop = &stop, .writes = writes };
	long rounds;

	CHECK(!pthread_create(&toucher.thread, NULL, writes ? write_stamps : read_stamps,
			      &toucher));
	rounds = discard_stamped(&toucher);
	WRITE_ONCE(stop, true);
	pthread_join(toucher.thread, NULL);
	CHECK(rounds > 0);
	CHECK_EQ(0, toucher.wrong);
	return true;
}

TEST_F_TIMEOUT(anon, faulted, TIME_LIMIT)
{
	if (!second_cpu())
		SKIP(return, "needs two CPUs");
	ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
	EXPECT_TRUE(with_toucher(self->mem, true));
}

TEST_F_TIMEOUT(anon, stale, TIME_LIMIT)
{
	if (!second_cpu())
		SKIP(return, "needs two CPUs");
	ASSERT_TRUE(discard_pages(self->mem, 0, PAGES));
	EXPECT_TRUE(with_toucher(self->mem, false));
}

TEST_HARNESS_MAIN
