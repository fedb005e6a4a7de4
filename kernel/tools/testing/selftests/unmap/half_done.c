// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process discards shared memory that it has written to, and another processor looks while that
 * is half done (laws 1 and 7): in each of the windows that the kernel opens on the way, with the
 * page-table lock held.  Whoever takes a page out of its file, or cleans it, must wait until
 * nothing counts as mapped any more, and until no TLB entry is left through which a store could
 * still reach the page.
 *
 * punched        a hole in the file
 * truncated      its end
 * direct         a direct write, which drops the page from the page cache (XFS)
 * stored         writeback, and then a store through the TLB entry that may be stale (XFS)
 * poisoned       a memory error (shmem)
 *
 * The other processor does not guess when: it waits for the window (unmap_windows in debugfs).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define LEN		RANGE
#define AT		(LEN - PAGE)	/* the page that is acted on */
#define TIME_LIMIT	600		/* seconds: on a very busy machine, too */
#define WINDOW		2000		/* us */
#define DISK_WINDOW	50000		/* the longest: time for a write to the disk */
/* Before the flush; before the table leaves its PMD, and after that. */
#define MIN_WINDOWS	3
#define MAX_WINDOWS	12
#define TRIES		3
#define NO_MORE		LONG_MAX	/* steps */
#define FIRST		41
#define SECOND		42
#define LAST		43

struct half {
	struct scene *scene;
	const struct action *action;
	pthread_t thread;
	char *other;		/* another mapping of the memory */
	int direct;		/* the file for direct writes */
	char *block;		/* what they write; no mmap() while the mmap lock is held */
	long asked, told;	/* steps: what the thread is to do, and has done; -1: no more */
	long long window;	/* the number of the window to wait for */
	bool over;		/* the memory was discarded */
	bool met, right;	/* what the thread did, it did in the window; and it could */
};

/* What the other processor does, what must be true then, and how long the windows are. */
struct action {
	bool (*act)(struct half *h);
	bool (*check)(struct half *h);
	unsigned int window;
};

/* Whether the window opened before the memory was discarded. */
static bool await_window(const struct half *h)
{
	while (!__atomic_load_n(&h->over, __ATOMIC_ACQUIRE))
		if (windows_opened() >= h->window)
			return true;
	return false;
}

static void await_step(const long *step, long nr)
{
	while (__atomic_load_n(step, __ATOMIC_ACQUIRE) < nr)
		cpu_relax();
}

/* The thread.  Its odd steps make ready, its even ones act. */
static void *act_in_windows(void *arg)
{
	struct half *h = arg;

	use_cpu(1);
	for (long step = 1; ; step++) {
		await_step(&h->asked, step);
		if (READ_ONCE(h->asked) == NO_MORE)
			return NULL;
		if (step % 2) {
			/* This CPU's TLB may write to the page from now on. */
			WRITE_ONCE(h->scene->mem[AT], SECOND);
		} else {
			h->met = await_window(h);
			h->right = h->action->act(h);
			/* It need not last longer. */
			table_window(0);
		}
		__atomic_store_n(&h->told, step, __ATOMIC_RELEASE);
	}
}

/* Discard the memory while the other processor acts in the @nth window from now on. */
static bool discard_once(struct half *h, long round, long nth)
{
	memset(h->scene->mem, FIRST, LEN);
	__atomic_store_n(&h->asked, 2 * round - 1, __ATOMIC_RELEASE);
	await_step(&h->told, 2 * round - 1);
	h->over = false;
	h->window = windows_opened() + nth;
	table_window_at(h->window);
	table_window(h->action->window);
	__atomic_store_n(&h->asked, 2 * round, __ATOMIC_RELEASE);
	CHECK(!madvise(h->scene->mem, LEN, MADV_DONTNEED));
	__atomic_store_n(&h->over, true, __ATOMIC_RELEASE);
	await_step(&h->told, 2 * round);
	CHECK(h->right);
	CHECK(h->action->check(h));
	return true;
}

/*
 * In the first window, the second, and so on, until there is none that is met.  There are more of
 * them if the pass has ended early, because of a tick.
 */
static bool discard_in_windows(struct half *h)
{
	long round = 0, nth = 0;

	do {
		nth++;
		h->met = false;
		for (int i = 0; i < TRIES && !h->met; i++)
			CHECK(discard_once(h, ++round, nth));
	} while (h->met && nth < MAX_WINDOWS);
	printf("# %ld windows\n", nth - !h->met);
	CHECK(nth > MIN_WINDOWS);
	return true;
}

static int open_memory(const struct scene *scene)
{
	int fd = -1;

	if (scene->kind == FILE_SHARED)
		return xfs_file(LEN, FIRST, scene->kib);
	fd = memfd_create("half", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, LEN) ? fd : -1;
}

static char *map_memory(int fd)
{
	return map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
}

static bool make_half(struct half *h)
{
	char path[32];

	h->scene->fd = open_memory(h->scene);
	CHECK(h->scene->fd >= 0);
	h->scene->mem = map_memory(h->scene->fd);
	h->other = map_memory(h->scene->fd);
	CHECK(h->scene->mem != MAP_FAILED && h->other != MAP_FAILED);
	memset(h->scene->mem, FIRST, LEN);
	CHECK(folios_are(h->scene->mem, LEN, h->scene->kib));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", h->scene->fd);
	h->direct = open(path, O_RDWR | O_DIRECT);	/* of memory, it is not used */
	CHECK(!posix_memalign((void **)&h->block, PAGE, PAGE));
	memset(h->block, LAST, PAGE);
	return true;
}

/* The file's content of the page, from the page cache; -1: it has more than one. */
static int content(const struct half *h)
{
	char page[PAGE];

	if (pread(h->scene->fd, page, PAGE, AT) != (ssize_t)PAGE || !page_is(page, page[0]))
		return -1;
	return page[0];
}

/* The same, from the disk. */
static int content_on_disk(const struct half *h)
{
	if (fsync(h->scene->fd) || posix_fadvise(h->scene->fd, 0, LEN, POSIX_FADV_DONTNEED))
		return -1;
	return content(h);
}

/* Actions. */

static bool punch(struct half *h)
{
	return !fallocate(h->scene->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, AT, PAGE);
}

static bool truncate_once(struct half *h)
{
	return !ftruncate(h->scene->fd, AT) && !ftruncate(h->scene->fd, LEN);
}

static bool is_gone(struct half *h)
{
	CHECK_EQ(0, content(h));
	return true;
}

static bool write_directly(struct half *h)
{
	return pwrite(h->direct, h->block, PAGE, AT) == (ssize_t)PAGE;
}

static bool is_written(struct half *h)
{
	CHECK_EQ(LAST, content_on_disk(h));
	return true;
}

/* Have the page written to the disk, which cleans it; then store. */
static bool write_back_and_store(struct half *h)
{
	bool done = !sync_file_range(h->scene->fd, AT, PAGE,
				     SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);

	memset(h->scene->mem + AT, LAST, PAGE);
	return done;
}

static bool is_stored(struct half *h)
{
	/* A page that is mapped is not dropped from memory. */
	CHECK(!madvise(h->scene->mem, LEN, MADV_DONTNEED));
	CHECK(!fsync(h->scene->fd));
	return is_written(h);
}

/*
 * Through another mapping, or the error would find nobody.  It fails with EBUSY while the
 * mmu_gather has a reference; but before that it unmaps the page.
 */
static bool poison(struct half *h)
{
	int log = kmsg_open();

	CHECK(poison_page(h->other + AT) || errno == EBUSY);
	CHECK(!kmsg_has(log, "failed to unmap"));
	close(log);
	return true;
}

/* Its memory is not to be used again; a new page takes its place. */
static bool is_poisoned(struct half *h)
{
	CHECK(!try_read(h->scene->mem + AT));
	CHECK(!try_read(h->other + AT));
	CHECK(!madvise(h->scene->mem, LEN, MADV_DONTNEED));
	CHECK(!madvise(h->other, LEN, MADV_DONTNEED));
	return punch(h);
}

static bool halve(struct scene *scene, const struct action *action)
{
	struct half h = { .scene = scene, .action = action };
	bool right;

	CHECK(make_half(&h));
	CHECK(!pthread_create(&h.thread, NULL, act_in_windows, &h));
	right = discard_in_windows(&h);
	table_window(0);
	table_window_at(0);
	__atomic_store_n(&h.asked, NO_MORE, __ATOMIC_RELEASE);
	pthread_join(h.thread, NULL);
	return right;
}

static bool halve_punched(struct scene *scene)
{
	static const struct action action = { punch, is_gone, WINDOW };

	return halve(scene, &action);
}

static bool halve_truncated(struct scene *scene)
{
	static const struct action action = { truncate_once, is_gone, WINDOW };

	return halve(scene, &action);
}

static bool halve_direct(struct scene *scene)
{
	static const struct action action = { write_directly, is_written, DISK_WINDOW };

	return halve(scene, &action);
}

static bool halve_stored(struct scene *scene)
{
	static const struct action action = { write_back_and_store, is_stored, DISK_WINDOW };

	return halve(scene, &action);
}

static bool halve_poisoned(struct scene *scene)
{
	static const struct action action = { poison, is_poisoned, WINDOW };

	return halve(scene, &action);
}

FIXTURE(half_done) {
	struct scene scene;
};

FIXTURE_VARIANT(half_done) {
	enum kind kind;
	unsigned long kib;
};

#define VARIANT(name, what, size)						\
	FIXTURE_VARIANT_ADD(half_done, name ## _ ## size ## K) {			\
		.kind = what, .kib = FOLIO_KIB(size) }

VARIANT(shmem, SHMEM, 4);
VARIANT(shmem, SHMEM, 64);
VARIANT(file, FILE_SHARED, 4);
VARIANT(file, FILE_SHARED, 64);

static const char *prepare(enum kind kind, unsigned long kib)
{
	const char *missing = begin(kib, true);

	if (missing)
		return missing;
	if (windows_opened() < 0)
		missing = "needs CONFIG_UNMAP_DISTURB";
	else if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		missing = "needs two CPUs";
	else if (kind == FILE_SHARED)
		missing = scene_needs(kind);
	if (missing)
		end();
	return missing;
}

FIXTURE_SETUP(half_done)
{
	const char *missing = prepare(variant->kind, variant->kib);

	if (missing)
		SKIP(return, "%s", missing);
	self->scene = (struct scene){ .kind = variant->kind, .kib = variant->kib, .len = LEN };
}

FIXTURE_TEARDOWN(half_done)
{
	table_window(0);
	table_window_at(0);
	end();
}

TEST_LONG(half_done, punched)
{
	EXPECT_TRUE(apart(halve_punched, &self->scene));
}

TEST_LONG(half_done, truncated)
{
	EXPECT_TRUE(apart(halve_truncated, &self->scene));
}

TEST_LONG(half_done, direct)
{
	if (variant->kind != FILE_SHARED)
		SKIP(return, "memory has no direct writes");
	EXPECT_TRUE(apart(halve_direct, &self->scene));
}

TEST_LONG(half_done, stored)
{
	if (variant->kind != FILE_SHARED)
		SKIP(return, "memory is not written back");
	EXPECT_TRUE(apart(halve_stored, &self->scene));
}

TEST_LONG(half_done, poisoned)
{
	if (variant->kind == FILE_SHARED)
		SKIP(return, "what was written to a file is lost with the page");
	EXPECT_TRUE(apart(halve_poisoned, &self->scene));
}

TEST_HARNESS_MAIN
