// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that reads page tables without their lock (a reader) completes correctly, even if the
 * table is given back after any of its reads of the PMD (law 8).
 *
 * /dev/unmap_test stops this thread after its first read of the PMD, the next time after its
 * second, and so on, until another thread has emptied the table and the table is gone.  If
 * the read happens under the lock that keeps the table, the stop ends by a time limit.  Most
 * readers run twice: first with a table, which an adjacent page keeps; then without one, so
 * that the reader has to allocate it.
 *
 * insert_page      a driver's page: vm_insert_page()
 * insert_pages     several: vm_insert_pages()
 * apply            apply_to_page_range()
 * fault_once       fault device memory in and look it up once, as KVM and VFIO do
 * touch            the first touch of anonymous memory
 * touch_shmem      the first touch of a page of shmem that is in the page cache
 * copy             UFFDIO_COPY
 * protect          UFFDIO_WRITEPROTECT of shmem that is not mapped
 * collapse         MADV_COLLAPSE of a huge page of shmem that is mapped by entries
 * retract          MADV_COLLAPSE of small pages of shmem
 * collapse_anon    MADV_COLLAPSE of anonymous memory (since Linux 6.18: older ones want a page)
 * move             UFFDIO_MOVE
 * collect          migrate_vma_setup(), by which drivers collect memory for their device
 * aging            MGLRU ages the memory: it must not look into the table after that is gone
 *
 * Code that zaps entries without the mmap lock or the rmap lock, as BPF's arena does, gives
 * no table back:
 *
 * unlocked         zap_page_range_single()
 * unlocked_pfns    zap_vma_ptes()
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "../../../../mm/unmap/tests/driver.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define DEVICE		"/dev/unmap_test"
#define LRU_GEN		"/sys/kernel/debug/lru_gen"
#define LRU_GEN_ON	"/sys/kernel/mm/lru_gen/enabled"
#define HALF		(PMD / 2)
#define SEVERAL		20L
#define SEED		17
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
/* Microseconds: how long the device stops this thread at most. */
#define WAIT		200000
/* Where processors take turns, the other thread is done when this one waits a microsecond. */
#define EXACT_WAIT	2000
#define MAX_LOOKS	200
#define TRIES		4	/* the other thread may run too late */
#define ENDLESS		~0U

struct reader;

/**
 * struct reading - the operations of a test
 * @make: map the first half of the memory
 * @ready: empty the first half, and have a table
 * @read: run the code under test; true if its result is right
 * @whole: the other thread empties all of the memory, not only the second half
 * @blind: the code must not access the table after that is gone, even in an RCU section
 * @passes: the code passes over a PMD without a table, so that it is not run on one
 */
struct reading {
	bool (*make)(struct reader *r);
	bool (*ready)(struct reader *r);
	bool (*read)(struct reader *r);
	bool whole;
	bool blind;
	bool passes;
};

/**
 * struct reader - a test of one table
 * @scene: for apart()
 * @what: the operations
 * @mem: the memory that the table maps; a page of its second half keeps the table
 * @fresh: there is no such page, and no table
 * @device: /dev/unmap_test
 * @fd: the mapped file; -1: none
 * @uffd: a userfaultfd that watches @mem; -1: none
 * @from: memory to move pages from
 * @helped: how often the other thread was asked to empty the table
 * @emptied: how often it has done so
 */
struct reader {
	struct scene scene;
	const struct reading *what;
	char *mem;
	bool fresh;
	int device, fd, uffd;
	char *from;
	long helped, emptied;
};

/* The other thread. */

static void *empty_table(void *arg)
{
	struct reader *r = arg;
	size_t kept = r->what->whole ? 0 : HALF;

	use_cpu(1);
	while (!ioctl(r->device, UNMAP_DRIVER_AWAIT)) {
		madvise(r->mem + kept, PMD - kept, MADV_DONTNEED);
		__atomic_add_fetch(&r->emptied, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* It may come late, and must not empty what is made ready for the next read. */
static void await_other(struct reader *r, const struct unmap_driver_watched *seen)
{
	r->helped += seen->helped;
	while (__atomic_load_n(&r->emptied, __ATOMIC_ACQUIRE) < r->helped)
		usleep(100);
}

/* Make: map the memory. */

static bool map_half(struct reader *r, int flags, int fd, off_t offset)
{
	CHECK(mmap(r->mem, HALF, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, offset) ==
	      r->mem);
	return true;
}

static bool make_anon(struct reader *r)
{
	return true;
}

static bool make_pages(struct reader *r)
{
	return map_half(r, MAP_SHARED, r->device, UNMAP_DRIVER_PAGES * PAGE);
}

static bool make_pfns(struct reader *r)
{
	return map_half(r, MAP_SHARED, r->device, UNMAP_DRIVER_PFNS * PAGE);
}

static bool make_file(struct reader *r)
{
	r->fd = memfd_create("readers", MFD_CLOEXEC);
	CHECK(r->fd >= 0);
	CHECK(!ftruncate(r->fd, PMD));
	return true;
}

static bool make_shmem(struct reader *r)
{
	CHECK(make_file(r));
	CHECK_EQ(1, pwrite(r->fd, "x", 1, 0));
	return map_half(r, MAP_SHARED, r->fd, 0);
}

static bool make_missing(struct reader *r)
{
	r->uffd = uffd_watch(r->mem, HALF, UFFD_FEATURE_SIGBUS, UFFDIO_REGISTER_MODE_MISSING);
	CHECK(r->uffd >= 0);
	return true;
}

static bool make_target(struct reader *r)
{
	r->uffd = uffd_watch(r->mem, HALF, UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MOVE,
			     UFFDIO_REGISTER_MODE_MISSING);
	CHECK(r->uffd >= 0);
	r->from = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(r->from != MAP_FAILED);
	return true;
}

static bool make_protected(struct reader *r)
{
	CHECK(make_shmem(r));
	r->uffd = uffd_open(r->mem, HALF);
	CHECK(r->uffd >= 0);
	return true;
}

/* Map the file in all of the memory, so that a huge page fits. */
static bool make_whole(struct reader *r)
{
	CHECK(make_file(r));
	CHECK(mmap(r->mem, PMD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd, 0) ==
	      r->mem);
	return true;
}

static bool make_huge(struct reader *r)
{
	CHECK(make_whole(r));
	fill(r->mem, PMD, SEED);
	CHECK(make_huge_pages(r->mem, PMD));
	return true;
}

/* Ready: empty memory, with a table. */

static bool ready_half(struct reader *r)
{
	CHECK(!madvise(r->mem, HALF, MADV_DONTNEED));
	WRITE_ONCE(r->mem[HALF], 1);
	return true;
}

static struct unmap_driver_range range(const struct reader *r, long pages)
{
	return (struct unmap_driver_range){ .addr = (uintptr_t)r->mem, .pages = pages };
}

static bool ready_pfns(struct reader *r)
{
	struct unmap_driver_range all = range(r, 1);

	CHECK(!ioctl(r->device, UNMAP_DRIVER_ZAP, &all));
	WRITE_ONCE(r->mem[HALF], 1);
	return true;
}

static bool ready_protected(struct reader *r)
{
	CHECK(uffd_protect(r->uffd, r->mem, HALF, false));
	CHECK_EQ(0, count_pages(r->mem, HALF, PM_UFFD_WP));
	return ready_half(r);
}

/* Map a page of the huge folio by a PTE: only in a VMA smaller than the huge page. */
static bool ready_huge(struct reader *r)
{
	CHECK(!madvise(r->mem, PMD, MADV_DONTNEED));
	CHECK(!mprotect(r->mem, HALF, PROT_READ));
	READ_ONCE(r->mem[0]);
	CHECK(!mprotect(r->mem, HALF, PROT_READ | PROT_WRITE));
	return true;
}

static bool ready_small(struct reader *r)
{
	CHECK(!fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PMD));
	fill(r->mem, PMD, SEED);
	CHECK(!madvise(r->mem, PMD, MADV_DONTNEED));
	/*
	 * Only one entry of many is present, and it is clean: before it gives a table of dirty
	 * pages back, the other thread would wait for this CPU to flush.
	 */
	READ_ONCE(r->mem[0]);
	return true;
}

/* A mark keeps huge pages away. */
static bool ready_anon(struct reader *r)
{
	CHECK(!madvise(r->mem + HALF, HALF, MADV_DONTNEED));
	CHECK(!madvise(r->mem, HALF, MADV_DONTNEED));
	WRITE_ONCE(r->mem[HALF], 1);
	return true;
}

/* Behind the first page, map a large folio by PTEs. */
static bool ready_large(struct reader *r)
{
	CHECK(ready_anon(r));
	CHECK(make_huge_pages(r->mem, PMD));
	CHECK(!madvise(r->mem, PAGE, MADV_DONTNEED));
	WRITE_ONCE(r->mem[0], 1);
	return true;
}

/* Read: the code under test. */

static bool inserted(struct reader *r, unsigned long request, long pages)
{
	struct unmap_driver_range there = range(r, pages);

	CHECK_EQ(0, ioctl(r->device, request, &there));
	CHECK_EQ(pages, count_pages(r->mem, HALF, PM_PRESENT));
	return true;
}

static bool insert_page(struct reader *r)
{
	return inserted(r, UNMAP_DRIVER_INSERT_PAGE, 1);
}

static bool insert_pages(struct reader *r)
{
	return inserted(r, UNMAP_DRIVER_INSERT_PAGES, SEVERAL);
}

static bool apply(struct reader *r)
{
	struct unmap_driver_range there = range(r, SEVERAL);

	CHECK_EQ(SEVERAL, ioctl(r->device, UNMAP_DRIVER_APPLY, &there));
	return true;
}

static bool fault_once(struct reader *r)
{
	struct unmap_driver_range there = range(r, 1);

	CHECK_EQ(0, ioctl(r->device, UNMAP_DRIVER_FAULT_ONCE, &there));
	return true;
}

static bool touch(struct reader *r)
{
	WRITE_ONCE(r->mem[0], 'x');
	CHECK_EQ('x', READ_ONCE(r->mem[0]));
	return true;
}

static bool touch_shmem(struct reader *r)
{
	CHECK_EQ('x', READ_ONCE(r->mem[0]));
	return true;
}

static bool copy(struct reader *r)
{
	static char page[PAGE] = "x";
	struct uffdio_copy copy = {
		.dst = (uintptr_t)r->mem, .src = (uintptr_t)page, .len = PAGE
	};

	CHECK_EQ(0, ioctl(r->uffd, UFFDIO_COPY, &copy));
	return touch_shmem(r);
}

static bool protect(struct reader *r)
{
	CHECK(uffd_protect(r->uffd, r->mem, SEVERAL * PAGE, true));
	CHECK_EQ(SEVERAL, count_pages(r->mem, HALF, PM_UFFD_WP));
	return true;
}

/* It may fail with EAGAIN because of the other thread, but not because a table is missing. */
static bool collapse(struct reader *r)
{
	if (madvise(r->mem, PMD, MADV_COLLAPSE))
		CHECK(errno == EAGAIN);
	CHECK_EQ(0, count_wrong(r->mem, PMD, SEED));
	return true;
}

/* It may fail as collapse() may.  Before 6.18 a huge page is not made of nothing. */
static bool collapse_anon(struct reader *r)
{
	if (madvise(r->mem, PMD, MADV_COLLAPSE))
		CHECK(errno == EAGAIN || (errno == EINVAL && kernel_before(6, 18)));
	return true;
}

static bool move(struct reader *r)
{
	struct uffdio_move move = {
		.dst = (uintptr_t)r->mem, .src = (uintptr_t)r->from, .len = PAGE
	};

	WRITE_ONCE(r->from[0], 'x');
	CHECK_EQ(0, ioctl(r->uffd, UFFDIO_MOVE, &move));
	return touch_shmem(r);
}

static bool collect(struct reader *r)
{
	struct unmap_driver_range there = range(r, SEVERAL);

	CHECK_EQ(SEVERAL, ioctl(r->device, UNMAP_DRIVER_COLLECT, &there));
	return true;
}

/* The generations of this control group's memory on its first node. */
struct generations {
	unsigned long long group, last;
	int node;
};

static bool find_group(FILE *file, struct generations *g)
{
	char line[256], path[128], group[128] = "";
	FILE *own = fopen("/proc/self/cgroup", "r");

	CHECK(own);
	CHECK(fscanf(own, "0::%127s", group) == 1);
	fclose(own);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "memcg %llu %127s", &g->group, path) == 2 &&
		    !strcmp(path, group))
			return true;
	return false;
}

static bool find_generations(struct generations *g)
{
	FILE *file = fopen(LRU_GEN, "r");

	CHECK(file);
	CHECK(find_group(file, g));
	CHECK(fscanf(file, " node %d", &g->node) == 1);
	/* One line for each generation; the youngest is the last. */
	while (fscanf(file, " %llu %*[^\n]", &g->last) == 1)
		;
	fclose(file);
	return true;
}

/* It may find that others have just aged the group: then there are no reads of the PMD. */
static bool age(struct reader *r)
{
	struct generations g;
	char command[96];

	CHECK(find_generations(&g));
	snprintf(command, sizeof(command), "+ %llu %d %llu 60 1", g.group, g.node, g.last);
	write_text(LRU_GEN, command);
	return true;
}

/* Run the code under test, stopped after each of its reads of the PMD in turn. */

static bool begin_watch(struct reader *r, unsigned int look)
{
	struct unmap_driver_watch watch = {
		.addr = (uintptr_t)r->mem, .look = look, .us = clock_is_exact() ? EXACT_WAIT : WAIT,
	};

	return !ioctl(r->device, UNMAP_DRIVER_WATCH, &watch);
}

static bool read_once(struct reader *r, unsigned int look,
		      struct unmap_driver_watched *seen)
{
	bool done;

	CHECK(r->what->ready(r));
	if (r->fresh)
		CHECK(!madvise(r->mem + HALF, HALF, MADV_DONTNEED));
	CHECK(begin_watch(r, look));
	done = r->what->read(r);
	CHECK(!ioctl(r->device, UNMAP_DRIVER_WATCHED, seen));
	await_other(r, seen);
	if (r->what->blind && seen->touched)
		done = false;
	if (!done)
		printf("# %s, stopped after read %u of the PMD: the table is %s\n",
		       r->fresh ? "no table at first" : "with a table", look,
		       seen->gone ? "gone" : "there");
	return done;
}

/* Stop after one read.  @taken: there was such a read; @gone grows if the table went. */
static bool read_stopped(struct reader *r, unsigned int look, bool *taken, long *gone)
{
	struct unmap_driver_watched seen = {};

	for (int i = 0; i < TRIES && !seen.gone; i++) {
		CHECK(read_once(r, look, &seen));
		*taken = seen.looks >= look;
		*gone += seen.gone;
	}
	return true;
}

static bool read_all(struct reader *r)
{
	unsigned int look = 0;
	bool taken = true;
	long gone = 0;

	while (taken && look < MAX_LOOKS)
		CHECK(read_stopped(r, ++look, &taken, &gone));
	printf("# %u reads of the PMD, %ld tables gone\n", look - taken, gone);
	/* A test in which no table went proves nothing. */
	CHECK(gone > 0);
	return true;
}

static bool make_reader(struct reader *r)
{
	r->device = open(DEVICE, O_RDWR);
	CHECK(r->device >= 0);
	r->mem = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(r->mem != MAP_FAILED);
	return r->what->make(r);
}

static bool reader_job(struct scene *scene)
{
	struct reader *r = (struct reader *)scene;
	pthread_t other;
	bool done;

	CHECK(make_reader(r));
	CHECK(!pthread_create(&other, NULL, empty_table, r));
	done = read_all(r);
	r->fresh = true;
	if (done && !r->what->whole && !r->what->passes)
		done = read_all(r);
	CHECK(!ioctl(r->device, UNMAP_DRIVER_END));
	pthread_join(other, NULL);
	return done;
}

FIXTURE(readers) {
	struct reader reader;
};

static const char *missing(void)
{
	if (access(DEVICE, R_OK | W_OK))
		return "needs " DEVICE ", in kernels built for tests";
	if (!switch_has(UNMAP_TABLES))
		return "this kernel gives no page tables back";
	return NULL;
}

FIXTURE_SETUP(readers)
{
	const char *lacks = begin(4, true);

	if (lacks)
		SKIP(return, "%s", lacks);
	lacks = missing();
	if (lacks) {
		end();
		SKIP(return, "%s", lacks);
	}
	self->reader = (struct reader){ .device = -1, .fd = -1, .uffd = -1 };
}

FIXTURE_TEARDOWN(readers)
{
	end();
}

static bool can_stop(void)
{
	struct unmap_driver_watched seen;
	struct reader r = { .mem = (char *)&r, .device = open(DEVICE, O_RDWR) };
	bool can = begin_watch(&r, ENDLESS) &&
		   !ioctl(r.device, UNMAP_DRIVER_WATCHED, &seen);

	close(r.device);
	return can;
}

static void run_reader(struct __test_metadata *_metadata, struct reader *r,
		       const struct reading *what)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || !can_stop())
		SKIP(return, "needs two CPUs, and breakpoints of a task in the kernel (x86)");
	r->what = what;
	EXPECT_TRUE(apart(reader_job, &r->scene));
}

#define READS(name, make, ready, read, whole)				\
	TEST_LONG(readers, name)					\
	{								\
		static const struct reading what = {			\
			make, ready, read, whole, false, false		\
		};							\
									\
		run_reader(_metadata, &self->reader, &what);		\
	}

READS(insert_page, make_pages, ready_half, insert_page, false)
READS(insert_pages, make_pages, ready_half, insert_pages, false)
READS(apply, make_anon, ready_half, apply, false)
READS(fault_once, make_pfns, ready_pfns, fault_once, false)
READS(touch, make_anon, ready_half, touch, false)
READS(touch_shmem, make_shmem, ready_half, touch_shmem, false)
READS(copy, make_missing, ready_half, copy, false)
READS(protect, make_protected, ready_protected, protect, false)
READS(collapse, make_huge, ready_huge, collapse, true)
READS(retract, make_whole, ready_small, collapse, true)
READS(move, make_target, ready_half, move, false)
READS(collect, make_anon, ready_large, collect, true)

TEST_LONG(readers, collapse_anon)
{
	const struct reading what = {
		make_anon, ready_anon, collapse_anon, false, false, kernel_before(6, 18)
	};

	run_reader(_metadata, &self->reader, &what);
}

TEST_LONG(readers, aging)
{
	static const struct reading what = { make_anon, ready_half, age, false, true, true };

	if (kernel_before(6, 18))
		SKIP(return, "Linux 6.12 holds the RCU read lock during the walk");
	if (access(LRU_GEN, W_OK) || !write_text(LRU_GEN_ON, "y"))
		SKIP(return, "needs CONFIG_LRU_GEN");
	run_reader(_metadata, &self->reader, &what);
	write_text(LRU_GEN_ON, "n");
}

/* Without a lock. */

static bool fill_pages(struct reader *r)
{
	return insert_pages(r);
}

static bool fill_pfns(struct reader *r)
{
	for (long i = 0; i < SEVERAL; i++)
		WRITE_ONCE(r->mem[i * PAGE], 1);
	return true;	/* pagemap does not show PFN mappings */
}

static const struct reading with_pages = { .make = make_pages, .read = fill_pages };
static const struct reading with_pfns = { .make = make_pfns, .read = fill_pfns };

static bool table_stays(struct reader *r)
{
	struct unmap_driver_range all = range(r, SEVERAL);
	long long freed = unmap_stat("tables_freed"), kept = unmap_stat("tables_waited");
	long long tables = status_pages("VmPTE");

	CHECK(!ioctl(r->device, UNMAP_DRIVER_ZAP, &all));
	CHECK_EQ(0, count_pages(r->mem, HALF, PM_PRESENT));
	CHECK_EQ(tables, status_pages("VmPTE"));
	CHECK_EQ(freed, unmap_stat("tables_freed"));
	CHECK_EQ(kept, unmap_stat("tables_waited"));
	/* Nor was the table recorded to be freed later. */
	usleep(AGE);
	write_text("/proc/sys/vm/drop_caches", "2");
	CHECK_EQ(tables, status_pages("VmPTE"));
	return true;
}

static bool unlocked_job(struct scene *scene)
{
	struct reader *r = (struct reader *)scene;

	CHECK(make_reader(r));
	CHECK(r->what->read(r));
	return table_stays(r);
}

TEST_LONG(readers, unlocked)
{
	self->reader.what = &with_pages;
	EXPECT_TRUE(apart(unlocked_job, &self->reader.scene));
}

TEST_LONG(readers, unlocked_pfns)
{
	self->reader.what = &with_pfns;
	EXPECT_TRUE(apart(unlocked_job, &self->reader.scene));
}

TEST_HARNESS_MAIN
