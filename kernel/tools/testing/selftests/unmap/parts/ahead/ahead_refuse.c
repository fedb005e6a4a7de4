// SPDX-License-Identifier: GPL-2.0-only
/* Pages and memory that are not evicted ahead of their turn: see ahead.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../../../mm/gup_test.h"
#include "ahead.h"

#define EVERY	3L

static void write_every(char *mem, long every, unsigned char seed)
{
	for (long i = 0; i < PAGES; i += every)
		memset(mem + i * PAGE, fill_byte(i, seed), PAGE);
}

static bool nothing_taken(void)
{
	if (ahead_is_on())
		CHECK_EQ(0, outcome->taken);
	return true;
}

/*
 * Pages that are mapped twice: file pages in this process, others by a child, which unmaps
 * the pages that are not to be shared.
 */
struct sharer {
	char *twin;
	pid_t pid;
	int go, ready;
};

/* A VMA for each page, so that a fault maps no pages around it. */
static bool map_twin(struct sharer *sharer, const struct scene *s, long every)
{
	sharer->twin = map_aligned(LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	CHECK(sharer->twin != MAP_FAILED);
	for (long i = 0; i < PAGES; i += every) {
		char *page = mmap(sharer->twin + i * PAGE, PAGE, PROT_READ,
				  MAP_SHARED | MAP_FIXED, s->fd, i * PAGE);

		CHECK(page != MAP_FAILED);
		READ_ONCE(*page);
		CHECK_EQ(2, page_mapcount(page));
	}
	return true;
}

static int hold_pages(const struct scene *s, long every, int go, int ready)
{
	char token = 0;
	long wrong = 0;

	for (long i = 0; i < PAGES; i++)
		if (i % every)
			munmap(s->mem + i * PAGE, PAGE);
	if (write(ready, &token, 1) != 1 || read(go, &token, 1))
		return 2;
	for (long i = 0; i < PAGES; i += every) {
		const char *page = s->mem + i * PAGE;

		wrong += !page_is(page, fill_byte(i, SEED)) &&
			 !(s->kind == LAZYFREE && page_is(page, 0));
	}
	return !!wrong;
}

static bool start_child(struct sharer *sharer, const struct scene *s, long every)
{
	int go[2], ready[2];
	char token;

	CHECK(!pipe(go) && !pipe(ready));
	fflush(stdout);
	sharer->pid = fork();
	if (!sharer->pid) {
		close(go[1]);
		_exit(hold_pages(s, every, go[0], ready[1]));
	}
	sharer->go = go[1];
	CHECK(sharer->pid > 0);
	CHECK(read(ready[0], &token, 1) == 1);
	CHECK_EQ(2, page_mapcount(s->mem));
	CHECK_EQ(every == 1 ? 2 : 1, page_mapcount(s->mem + PAGE));
	return true;
}

static bool share(struct sharer *sharer, const struct scene *s, long every)
{
	*sharer = (struct sharer){ .go = -1 };
	return s->fd >= 0 ? map_twin(sharer, s, every) : start_child(sharer, s, every);
}

/* Check what the other side has; count the pages that are still mapped there. */
static bool end_sharing(struct sharer *sharer, long every)
{
	int status = -1;

	if (sharer->pid) {
		close(sharer->go);
		CHECK(waitpid(sharer->pid, &status, 0) == sharer->pid);
		CHECK_EQ(0, status);
		return true;
	}
	CHECK_EQ(0, count_pages(sharer->twin, LEN, PM_PRESENT));
	for (long i = 0; i < PAGES; i += every)
		CHECK(page_is(sharer->twin + i * PAGE, fill_byte(i, SEED)));
	return true;
}

static bool reclaim_shared(struct scene *s, long every)
{
	struct sharer sharer;

	CHECK(ahead_make(s));
	CHECK(share(&sharer, s, every));
	CHECK(ahead_reclaim(s, 8));
	CHECK_EQ(0, outcome->there);
	CHECK(end_sharing(&sharer, every));
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

bool refuse_shared(struct scene *s)
{
	CHECK(reclaim_shared(s, 1));
	if (ahead_is_on())
		CHECK(outcome->taken <= ahead_own(s->kind));
	return true;
}

bool refuse_some_shared(struct scene *s)
{
	CHECK(reclaim_shared(s, EVERY));
	if (ahead_is_on())
		CHECK(outcome->taken <= PAGES * 2 / 3 + ahead_own(s->kind));
	return true;
}

/* An extra reference to every third page (vmsplice()). */
bool refuse_referenced(struct scene *s)
{
	struct pin pin;

	CHECK(ahead_make(s));
	CHECK(pin_open(&pin));
	for (long i = 1; i < PAGES; i += EVERY)
		CHECK(pin_page(&pin, s->mem + i * PAGE));
	CHECK(ahead_page_out(s));
	if (s->kind == LAZYFREE)
		CHECK_EQ((PAGES + 1) / EVERY, outcome->there);
	else
		CHECK_EQ(0, outcome->there);
	if (ahead_takes(s->kind))	/* others are taken all the same */
		CHECK(outcome->taken >= PAGES / 8);
	CHECK_EQ(0, ahead_wrong(s));
	unpin(&pin);
	return true;
}

/* Pages that a device may access: FOLL_LONGTERM. */
#define PINNED_FIRST	101L
#define PINNED		70L

static int pin_range(const struct scene *s)
{
	struct pin_longterm_test range = {
		.addr = (uintptr_t)s->mem + PINNED_FIRST * PAGE,
		.size = PINNED * PAGE,
		.flags = s->fd >= 0 ? 0 : PIN_LONGTERM_TEST_FLAG_USE_WRITE,
	};
	int fd = open("/sys/kernel/debug/gup_test", O_RDWR);

	if (fd < 0 || !ioctl(fd, PIN_LONGTERM_TEST_START, &range))
		return fd;
	close(fd);
	return -1;
}

/* Does the device see what the process has just written? */
static bool device_sees(int fd, unsigned char seed)
{
	char *seen = mmap(NULL, PINNED * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 addr = (uintptr_t)seen;

	CHECK(seen != MAP_FAILED);
	CHECK(!ioctl(fd, PIN_LONGTERM_TEST_READ, &addr));
	for (long i = 0; i < PINNED; i++)
		CHECK(page_is(seen + i * PAGE, fill_byte(PINNED_FIRST + i, seed)));
	munmap(seen, PINNED * PAGE);
	return true;
}

bool refuse_pinned(struct scene *s)
{
	int fd;

	CHECK(ahead_make(s));
	fd = pin_range(s);
	CHECK(fd >= 0);
	CHECK(ahead_page_out(s));
	CHECK_EQ(s->fd >= 0 ? 0 : PINNED, outcome->there);
	CHECK_EQ(0, ahead_wrong(s));
	write_every(s->mem, 1, SEED + 1);
	CHECK(device_sees(fd, SEED + 1));
	close(fd);
	return true;
}

/* Userfaultfd write protection of every third page. */
bool refuse_armed(struct scene *s)
{
	int uffd;

	CHECK(ahead_make(s));
	uffd = uffd_open(s->mem, LEN);
	CHECK(uffd >= 0);
	for (long i = 1; i < PAGES; i += EVERY)
		CHECK(uffd_protect(uffd, s->mem + i * PAGE, PAGE, true));
	CHECK(ahead_page_out(s));
	outcome->note = count_pages(s->mem, LEN, PM_UFFD_WP);
	CHECK(s->kind == LAZYFREE || outcome->note == (PAGES + 1) / EVERY);
	CHECK(nothing_taken());
	CHECK_EQ(0, ahead_wrong(s));
	close(uffd);
	return true;
}

bool refuse_mlocked(struct scene *s)
{
	CHECK(ahead_make(s));
	for (long i = 1; i < PAGES; i += EVERY)
		CHECK(!mlock(s->mem + i * PAGE, PAGE));
	CHECK(ahead_reclaim(s, 4));
	for (long i = 0; i < PAGES; i++)
		CHECK((outcome->fate[i] == STAYED) == (i % EVERY == 1));
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/*
 * What the file has, apart from caches (shared memory has no file): each @every'th page was
 * written.
 */
static bool file_has(struct scene *s, long every)
{
	if (s->kind == FILE_SHARED) {
		munmap(s->mem, LEN);
		CHECK(!fsync(s->fd));
		drop_caches();
		s->mem = map_aligned(LEN, PROT_READ, MAP_SHARED, s->fd);
		CHECK(s->mem != MAP_FAILED);
	}
	for (long i = 0; i < PAGES; i++)
		CHECK(page_is(s->mem + i * PAGE, fill_byte(i, i % every ? SEED : SEED + 1)));
	return true;
}

/* Entries that are dirty: written through the mapping. */
bool refuse_dirty(struct scene *s)
{
	CHECK(ahead_make(s));
	write_every(s->mem, 1, SEED + 1);
	CHECK(ahead_page_out(s));
	CHECK(nothing_taken());
	return file_has(s, 1);
}

bool refuse_some_dirty(struct scene *s)
{
	CHECK(ahead_make(s));
	write_every(s->mem, EVERY, SEED + 1);
	CHECK(ahead_page_out(s));
	if (ahead_is_on())
		CHECK(outcome->taken <= PAGES * 2 / 3);
	return file_has(s, EVERY);
}

/* Private copies of some of a file's pages, in a VMA that maps the others. */
bool refuse_copied(struct scene *s)
{
	CHECK(ahead_make(s));
	munmap(s->mem, LEN);
	s->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, s->fd);
	CHECK(s->mem != MAP_FAILED && !madvise(s->mem, LEN, MADV_POPULATE_READ));
	write_every(s->mem, EVERY, SEED + 1);
	CHECK(ahead_page_out(s));
	for (long i = 0; i < PAGES; i++)
		CHECK(page_is(s->mem + i * PAGE, fill_byte(i, i % EVERY ? SEED : SEED + 1)));
	return true;
}

/* Lazyfree pages that were written again. */
bool refuse_redirtied(struct scene *s)
{
	CHECK(ahead_make(s));
	write_every(s->mem, EVERY, SEED);
	CHECK(ahead_page_out(s));
	for (long i = 0; i < PAGES; i++)
		CHECK((outcome->fate[i] == STAYED) == (i % EVERY == 0));
	for (long i = 0; i < PAGES; i += EVERY)
		CHECK(page_is(s->mem + i * PAGE, fill_byte(i, SEED)));
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/*
 * KSM's pages.  After the merge the second half is written: then the pages of the first half
 * are mapped once, but for a few, because fill_byte() repeats itself after 251 pages.
 */
#define HALF	(PAGES / 2)
#define KSM	"/sys/kernel/mm/ksm/"

static bool merge_halves(const struct scene *s)
{
	for (long i = 0; i < HALF; i++)
		memcpy(s->mem + (HALF + i) * PAGE, s->mem + i * PAGE, PAGE);
	CHECK(!madvise(s->mem, LEN, MADV_MERGEABLE));
	CHECK(write_text(KSM "pages_to_scan", "4096"));
	CHECK(write_text(KSM "sleep_millisecs", "0"));
	CHECK(write_text(KSM "run", "1"));
	for (int i = 0; i < 200 && count_shared(s->mem, LEN) < PAGES; i++)
		usleep(50000);
	CHECK(write_text(KSM "run", "0"));
	CHECK(write_text(KSM "sleep_millisecs", "20"));
	CHECK_EQ(PAGES, count_shared(s->mem, LEN));
	return true;
}

bool refuse_merged(struct scene *s)
{
	struct scene first = *s;

	CHECK(ahead_make(s));
	CHECK(merge_halves(s));
	for (long i = HALF; i < PAGES; i++)
		memset(s->mem + i * PAGE, fill_byte(i, SEED), PAGE);
	CHECK_EQ(1, page_mapcount(s->mem + HALF / 2 * PAGE));
	first.mem = s->mem;
	first.len = HALF * PAGE;
	CHECK(ahead_page_out(&first));
	CHECK(nothing_taken());
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/* A device mirrors the process: what is cold here may be hot there. */
bool refuse_notified(struct scene *s)
{
	int fd = open("/dev/hmm_dmirror0", O_RDWR);

	CHECK(fd >= 0);
	CHECK(ahead_make(s));
	CHECK(ahead_reclaim(s, 8));
	CHECK_EQ(0, outcome->there);
	if (ahead_is_on())
		CHECK(outcome->taken <= ahead_own(s->kind));
	CHECK_EQ(0, ahead_wrong(s));
	close(fd);
	return true;
}
