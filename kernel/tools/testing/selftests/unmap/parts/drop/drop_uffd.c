// SPDX-License-Identifier: GPL-2.0-only
/* userfaultfd begins to watch memory while its tables are dropped: see drop.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drop.h"

#define WATCHED		8L	/* tables: each second one is filled after the watch began */
#define ALL		(WATCHED * LEN)
#define ENTRIES		(WATCHED * PAGES)
#define ENOUGH		3	/* rounds */
#define STEP		8	/* of the late pages only so many are mapped: each takes a window */

struct watched {
	char *mem;
	int uffd;
	bool minor;
	long early;	/* pages that were mapped when the watch began, in all rounds */
	__u64 before[ENTRIES], after[ENTRIES];	/* of the page tables */
};

/* Of a few pages in each table: what is mapped next to them, a fault would map, too. */
static bool start_watch(struct watched *w)
{
	__u64 features = UFFD_FEATURE_SIGBUS, mode;

	if (w->minor) {
		features |= UFFD_FEATURE_MINOR_SHMEM;
		mode = UFFDIO_REGISTER_MODE_MINOR;
	} else {
		features |= UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
		mode = UFFDIO_REGISTER_MODE_WP;
	}
	CHECK(!madvise(w->mem, ALL, MADV_DONTNEED));
	for (long i = 0; i < WATCHED; i++)
		READ_ONCE(w->mem[i * LEN + PAGES / 2 * PAGE]);
	w->uffd = uffd_watch(w->mem, ALL, features, mode);
	return w->uffd >= 0;
}

static bool map_page(const struct watched *w, char *page)
{
	struct uffdio_continue put = { .range = { (uintptr_t)page, PAGE } };

	return !ioctl(w->uffd, UFFDIO_CONTINUE, &put) || errno == EEXIST;
}

/* Map all of each second table, and protect it; or, for minor faults, some pages of it. */
static bool fill_watched(const struct watched *w)
{
	for (long i = 1; i < WATCHED; i += 2) {
		char *mem = w->mem + i * LEN;

		for (long page = 0; w->minor && page < PAGES; page += STEP)
			CHECK(map_page(w, mem + page * PAGE));
		if (!w->minor)
			CHECK(!madvise(mem, LEN, MADV_POPULATE_READ) &&
			      uffd_protect(w->uffd, mem, LEN, true));
	}
	return true;
}

/* Mapped after the watch began. */
static bool is_late(const struct watched *w, long entry)
{
	return entry / PAGES % 2 && (!w->minor || entry % STEP == 0);
}

/* Nothing goes that was mapped when the watch began or later, and no protection. */
static bool all_stayed(const struct watched *w)
{
	for (long i = 0; i < ENTRIES; i++) {
		CHECK(!is_late(w, i) || w->before[i] & PM_PRESENT);
		CHECK(!(w->before[i] & PM_PRESENT) || w->after[i] & PM_PRESENT);
		CHECK_EQ(!w->minor && is_late(w, i), !!(w->after[i] & PM_UFFD_WP));
	}
	return true;
}

/* No fault that the program cannot expect: of a page that was mapped when the watch began. */
static bool minor_faults_are_known(const struct watched *w)
{
	for (long i = 0; i < ENTRIES; i += 37)
		CHECK_EQ(!!(w->before[i] & PM_PRESENT), try_read(w->mem + i * PAGE));
	return true;
}

static bool writes_are_caught(const struct watched *w)
{
	for (long i = 0; i < ENTRIES; i += 37)
		CHECK_EQ(!is_late(w, i), try_write(w->mem + i * PAGE, 1));
	return true;
}

static bool watch_once(struct watched *w)
{
	CHECK(start_watch(w));
	pagemap_range(w->mem, w->before, ENTRIES);
	for (long i = 0; i < ENTRIES; i++)
		w->early += w->before[i] & PM_PRESENT ? 1 : 0;
	CHECK(fill_watched(w));
	for (long i = 1; i < WATCHED; i += 2)
		pagemap_range(w->mem + i * LEN, w->before + i * PAGES, PAGES);
	dropping_wait();
	pagemap_range(w->mem, w->after, ENTRIES);
	CHECK(all_stayed(w));
	CHECK(w->minor ? minor_faults_are_known(w) : writes_are_caught(w));
	return !close(w->uffd);
}

static bool watch(struct scene *scene, bool minor)
{
	static struct watched w;
	bool right = true;
	int fd = drop_file(scene);

	w.minor = minor;
	w.mem = map_file(fd, WATCHED, MAP_SHARED);
	CHECK(w.mem != MAP_FAILED && pad_tables(COPIES));
	/* Pages that are not in the file yet raise faults of another kind. */
	CHECK(!posix_fallocate(fd, 0, LEN));
	CHECK(dropping_start());
	for (int i = 0; right && (i < ENOUGH || race_goes_on(RACE_WATCHED)); i++)
		right = watch_once(&w);
	dropping_stop();
	CHECK(w.early);
	return right;
}

bool race_watched(struct scene *scene)
{
	return watch(scene, false);
}

bool race_watched_minor(struct scene *scene)
{
	return watch(scene, true);
}
