// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace points unmap:run, unmap:put_back and unmap:table_free say what was done, and
 * there are as many events as the counters in stat say.  Events of other processes do not
 * matter.
 *
 * lazyfree    one event for each run, with its address, frame, length, kind and flush
 * file        the same for files
 * swap        the same for memory that is swapped
 * referenced  a run that was put back because of an extra reference
 * redirtied   a run that was put back because it was written after MADV_FREE
 * poisoned    one event for a small folio with a memory error
 * hugetlb     the same in a hugetlb folio
 * discarded   one event for each page table that MADV_DONTNEED frees
 * moved       that mremap() frees
 * uffd_moved  that UFFDIO_MOVE frees
 * worker      that MADV_PAGEOUT has emptied
 * reclaimed   that reclaim by another process has emptied, which may free them, too
 * shrinker    that were kept until memory is short
 * filtered    events are filtered by the process that the memory belongs to
 * names       tools are told the numbers of kinds and reasons
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/fault_util.h"
#include "lib/unmap_util.h"

#define TRACEFS		"/sys/kernel/tracing"
#define BUFFER		TRACEFS "/instances/unmap_test"
#define EVENTS		BUFFER "/events/unmap/"
#define HUGE_PAGES	"/proc/sys/vm/nr_hugepages"
#define NR_TABLES	4
#define LEN		(NR_TABLES * PMD)
#define PAGES		((long)(LEN / PAGE))
#define MAX_EVENTS	(2 * LEN / PAGE)
#define STRETCH		32	/* the most single pages whose flush is noted together */
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */
/* Tenths of a second. */
#define SOON		100

/* One event; @word is its kind, its reason, or who freed the table. */
struct event {
	char name[16], word[16], flush[8];
	unsigned long addr, pfn;
	unsigned int nr, folio;
	int owner;
};

enum counter { RUNS, ENTRIES, NOTED, PUT_BACK, FREED, NR_COUNTERS };

static const char * const counters[] = {
	"evict_runs", "evict_entries", "flushes_deferred", "put_back_runs", "tables_freed"
};

struct counts {
	long long nr[NR_COUNTERS];
};

/*
 * Other processes may be reclaimed between reading the counters and the buffer: the counters
 * are read before and after the buffer is emptied, and before and after it is read.
 */
FIXTURE(trace) {
	char *mem;
	__u64 frames[LEN / PAGE];
	struct event events[MAX_EVENTS];
	long nr;
	struct counts emptied[2], read[2];
};

FIXTURE_VARIANT(trace) {
	unsigned long kib;
	bool on;
};

SIZE_VARIANTS(trace, 4);
SIZE_VARIANTS(trace, 64);
SIZE_VARIANTS(trace, 1024);

/* An instance: a buffer of its own, so that other users of tracing are not disturbed. */
static const char *buffer_open(void)
{
	if (mount("tracefs", TRACEFS, "tracefs", 0, NULL) && errno != EBUSY)
		return "no tracefs";
	if (mkdir(BUFFER, 0755) && errno != EEXIST)
		return "no instances of tracefs";
	if (!write_text(EVENTS "enable", "1"))
		return "no trace points of mm/unmap";
	return NULL;
}

static bool parse_memory(const char *text, struct event *e)
{
	return sscanf(text, "owner=%d addr=%lx pfn=%lx nr=%u folio=%u %*[a-z]=%15s flush=%7s",
		      &e->owner, &e->addr, &e->pfn, &e->nr, &e->folio, e->word, e->flush) >= 6;
}

static bool parse_table(const char *text, struct event *e)
{
	return sscanf(text, "owner=%d addr=%lx by=%15s", &e->owner, &e->addr, e->word) == 3;
}

/* Parse "TASK-PID [CPU] FLAGS TIME: NAME: FIELDS"; false if the line is no such event. */
static bool parse(const char *line, struct event *e)
{
	const char *text = strstr(line, ": owner=");
	const char *name = text;

	if (!text)
		return false;
	while (name > line && name[-1] != ' ')
		name--;
	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%.*s", (int)(text - name), name);
	text += strlen(": ");
	return strcmp(e->name, "table_free") ? parse_memory(text, e) : parse_table(text, e);
}

/* Read all events called @name into @events; returns how many there are. */
static long read_events(const char *name, struct event *events)
{
	FILE *file = fopen(BUFFER "/trace", "r");
	char line[256];
	long nr = 0;

	while (file && nr < (long)MAX_EVENTS && fgets(line, sizeof(line), file))
		nr += parse(line, &events[nr]) && !strcmp(events[nr].name, name);
	if (file)
		fclose(file);
	return nr;
}

static struct counts read_stat(void)
{
	struct counts counts;

	for (int i = 0; i < NR_COUNTERS; i++)
		counts.nr[i] = unmap_stat(counters[i]);
	return counts;
}

/* Opening the file for writing empties the buffer. */
static void forget_events(void)
{
	FILE *file = fopen(BUFFER "/trace", "w");

	if (file)
		fclose(file);
}

static void start(struct _test_data_trace *self)
{
	__u64 entries[LEN / PAGE];

	pagemap_range(self->mem, entries, PAGES);
	for (long i = 0; i < PAGES; i++)
		self->frames[i] = PAGEMAP_PFN(entries[i]);
	self->emptied[0] = read_stat();
	forget_events();
	self->emptied[1] = read_stat();
}

static void stop(struct _test_data_trace *self, const char *name)
{
	self->read[0] = read_stat();
	self->nr = read_events(name, self->events);
	self->read[1] = read_stat();
}

/* Of what @counter counts, the buffer has @nr, those of other processes included. */
static void check_counter(struct __test_metadata *_metadata,
			  const struct _test_data_trace *self, enum counter counter, long nr)
{
	EXPECT_LE(self->read[0].nr[counter] - self->emptied[1].nr[counter], nr);
	EXPECT_GE(self->read[1].nr[counter] - self->emptied[0].nr[counter], nr);
}

FIXTURE_SETUP(trace)
{
	const char *missing = begin(variant->kib, variant->on);

	if (!missing)
		missing = buffer_open();
	if (missing)
		SKIP(return, "%s", missing);
	self->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(trace)
{
	rmdir(BUFFER);
	end();
}

static char *filled(struct _test_data_trace *self)
{
	fill(self->mem, LEN, 1);
	return self->mem;
}

static bool is_here(const struct _test_data_trace *self, const struct event *e)
{
	return e->addr >= (unsigned long)self->mem && e->addr < (unsigned long)self->mem + LEN;
}

static bool is_mine(const struct _test_data_trace *self, const struct event *e)
{
	return e->owner == getpid() && is_here(self, e);
}

static long count_mine(const struct _test_data_trace *self)
{
	long mine = 0;

	for (long i = 0; i < self->nr; i++)
		mine += is_mine(self, &self->events[i]);
	return mine;
}

/* Whatever owner they tell. */
static long count_here(const struct _test_data_trace *self)
{
	long here = 0;

	for (long i = 0; i < self->nr; i++)
		here += is_here(self, &self->events[i]);
	return here;
}

static void drop_others(struct _test_data_trace *self)
{
	long mine = 0;

	for (long i = 0; i < self->nr; i++)
		if (is_mine(self, &self->events[i]))
			self->events[mine++] = self->events[i];
	self->nr = mine;
}

/* Whether the event says what is true of the folio that was at its address. */
static bool is_right_run(const struct _test_data_trace *self, const struct event *e,
			 unsigned long kib, const char *word)
{
	long at = (e->addr - (unsigned long)self->mem) / PAGE;

	return e->addr % (kib * KIB) == 0 && e->nr == kib * KIB / PAGE &&
	       e->folio == e->nr && e->pfn == self->frames[at] && !strcmp(e->word, word);
}

/* Swap may have no room for a whole folio, which is then split. */
static bool is_split(const struct _test_data_trace *self)
{
	for (long i = 1; i < self->nr; i++)
		if (self->events[i].folio != self->events[0].folio)
			return true;
	return false;
}

static long count_wrong_runs(const struct _test_data_trace *self, unsigned long kib,
			     const char *word)
{
	long wrong = 0;

	for (long i = 0; i < self->nr; i++)
		wrong += !is_right_run(self, &self->events[i], kib, word);
	return wrong;
}

static long count_pages_of_runs(const struct _test_data_trace *self)
{
	long pages = 0;

	for (long i = 0; i < self->nr; i++)
		pages += self->events[i].nr;
	return pages;
}

static long count_noted(const struct _test_data_trace *self)
{
	long noted = 0;

	for (long i = 0; i < self->nr; i++)
		noted += !strcmp(self->events[i].flush, "noted");
	return noted;
}

/* Single pages that are evicted together share a note of their flush: see ahead.c. */
static void check_notes(struct __test_metadata *_metadata, const struct _test_data_trace *self,
			unsigned long kib)
{
	long noted = count_noted(self);

	if (kib * KIB > PAGE) {
		check_counter(_metadata, self, NOTED, noted);
		return;
	}
	EXPECT_LE(self->read[0].nr[NOTED] - self->emptied[1].nr[NOTED], noted);
	EXPECT_LE(noted / STRETCH, self->read[1].nr[NOTED] - self->emptied[0].nr[NOTED]);
}

/* All of the memory has been reclaimed since start(). */
static void check_runs(struct __test_metadata *_metadata, struct _test_data_trace *self,
		       unsigned long kib, bool on, const char *kind)
{
	stop(self, "run");
	if (!on) {
		EXPECT_EQ(0, self->nr);
		return;
	}
	check_counter(_metadata, self, RUNS, self->nr);
	check_counter(_metadata, self, ENTRIES, count_pages_of_runs(self));
	check_notes(_metadata, self, kib);
	drop_others(self);
	EXPECT_EQ(PAGES, count_pages_of_runs(self));
	EXPECT_EQ(0, count_wrong_runs(self, kib, kind));
}

TEST_LONG(trace, lazyfree)
{
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	check_runs(_metadata, self, variant->kib, variant->on, "lazyfree");
}

TEST_LONG(trace, file)
{
	int fd = xfs_file(LEN, 1, variant->kib);

	if (fd < 0)
		SKIP(return, "/mnt is not XFS");
	munmap(self->mem, LEN);
	ASSERT_EQ(self->mem, mmap(self->mem, LEN, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0));
	ASSERT_EQ(0, count_wrong(self->mem, LEN, 1));
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	check_runs(_metadata, self, variant->kib, variant->on, "file");
	close(fd);
}

TEST_LONG(trace, swap)
{
	if (!swap_is_on() || !swap_has_room(LEN))
		SKIP(return, "no swap");
	filled(self);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	ASSERT_EQ(PAGES, count_pages(self->mem, LEN, PM_SWAP));
	stop(self, "run");
	drop_others(self);
	if (is_split(self))
		SKIP(return, "no room in swap for whole folios");
	check_runs(_metadata, self, variant->kib, variant->on, "swap");
}

/* Only the first folio stays. */
static void check_put_back(struct __test_metadata *_metadata, struct _test_data_trace *self,
			   unsigned long kib, bool on, const char *reason)
{
	stop(self, "put_back");
	check_counter(_metadata, self, PUT_BACK, self->nr);
	drop_others(self);
	if (on)
		EXPECT_LT(0, self->nr);
	EXPECT_EQ(0, count_wrong_runs(self, kib, reason));
	for (long i = 0; i < self->nr; i++)
		EXPECT_EQ((unsigned long)self->mem, self->events[i].addr);
}

TEST_LONG(trace, referenced)
{
	struct pin pin;

	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	ASSERT_TRUE(pin_open(&pin));
	ASSERT_TRUE(pin_page(&pin, self->mem));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	unpin(&pin);
	check_put_back(_metadata, self, variant->kib, variant->on, "referenced");
}

TEST_LONG(trace, redirtied)
{
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	WRITE_ONCE(self->mem[0], 7);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	check_put_back(_metadata, self, variant->kib, variant->on, "redirtied");
}

/* One event for the run of one entry at @addr. */
static void check_one_run(struct __test_metadata *_metadata, struct _test_data_trace *self,
			  bool on, const char *addr, const char *kind)
{
	const struct event *e = self->events;

	stop(self, "run");
	drop_others(self);
	ASSERT_EQ(on, self->nr);
	if (!on)
		return;
	EXPECT_EQ((unsigned long)addr, e->addr);
	EXPECT_EQ(self->frames[(addr - self->mem) / PAGE], e->pfn);
	EXPECT_EQ(1U, e->nr);
	EXPECT_STREQ(kind, e->word);
}

/* A large folio is split: its pages before @bad, it, and those behind it. */
static void check_split_runs(struct __test_metadata *_metadata, struct _test_data_trace *self,
			     bool on, const char *bad)
{
	const struct event *e = self->events;

	stop(self, "run");
	drop_others(self);
	ASSERT_EQ(on ? 3 : 0, self->nr);
	if (!on)
		return;
	EXPECT_EQ((unsigned long)self->mem, e[0].addr);
	EXPECT_EQ((unsigned long)bad, e[1].addr);
	EXPECT_EQ((unsigned long)bad + PAGE, e[2].addr);
	EXPECT_EQ(e[0].folio, e[0].nr + 1 + e[2].nr);
	EXPECT_EQ(1U, e[1].nr);
	EXPECT_STREQ("relocate", e[0].word);
	EXPECT_STREQ("poison", e[1].word);
	EXPECT_STREQ("relocate", e[2].word);
}

TEST_LONG(trace, poisoned)
{
	char *bad = filled(self) + 5 * PAGE;

	if (access("/proc/sys/vm/memory_failure_recovery", F_OK))
		SKIP(return, "needs CONFIG_MEMORY_FAILURE");
	start(self);
	ASSERT_TRUE(poison_page(bad));
	if (variant->kib == 4)
		check_one_run(_metadata, self, variant->on, bad, "poison");
	else
		check_split_runs(_metadata, self, variant->on && switch_has(UNMAP_RELOCATE), bad);
}

/* Map one hugetlb folio in place of the first 2 MiB. */
static bool map_hugetlb(char *mem)
{
	return mmap(mem, PMD, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_HUGETLB, -1, 0) == mem;
}

TEST_LONG(trace, hugetlb)
{
	long long before = read_field(HUGE_PAGES, "");

	if (access("/proc/sys/vm/memory_failure_recovery", F_OK) || before < 0)
		SKIP(return, "needs CONFIG_MEMORY_FAILURE and CONFIG_HUGETLBFS");
	ASSERT_TRUE(write_number(HUGE_PAGES, before + 1));
	ASSERT_TRUE(map_hugetlb(self->mem));
	WRITE_ONCE(self->mem[0], 1);
	start(self);
	ASSERT_TRUE(poison_page(self->mem + 5 * PAGE));
	check_one_run(_metadata, self, variant->on, self->mem, "hugetlb");
	if (variant->on)
		EXPECT_EQ(PMD / PAGE, self->events[0].folio);
	munmap(self->mem, PMD);
	write_number(HUGE_PAGES, before);
}

/* Reclaim that takes long enough comes to tables before the worker does. */
static bool is_freed_by(const struct event *e, const char *by)
{
	if (!strcmp(by, "worker or shrinker"))
		return !strcmp(e->word, "worker") || !strcmp(e->word, "shrinker");
	return !strcmp(e->word, by);
}

/* How many of @nr empty tables are freed. */
static long tables(bool on, long nr)
{
	return on && switch_has(UNMAP_TABLES) ? nr : 0;
}

/* A task leaves tables to the worker, too, if it cannot have the mmap lock. */
static void await_tables(struct _test_data_trace *self, long nr)
{
	stop(self, "table_free");
	for (int i = 0; i < SOON && count_mine(self) < nr; i++) {
		usleep(100000);
		stop(self, "table_free");
	}
}

/* The first @nr tables of the memory, and no others, are freed once. */
static void check_tables(struct __test_metadata *_metadata, struct _test_data_trace *self,
			 long nr, const char *by)
{
	long times[NR_TABLES] = {};

	await_tables(self, nr);
	check_counter(_metadata, self, FREED, self->nr);
	drop_others(self);
	for (long i = 0; i < self->nr; i++) {
		const struct event *e = &self->events[i];

		EXPECT_EQ(0UL, e->addr % PMD);
		EXPECT_TRUE(is_freed_by(e, by));
		times[(e->addr - (unsigned long)self->mem) / PMD]++;
	}
	for (int i = 0; i < NR_TABLES; i++)
		EXPECT_EQ(i < nr, times[i]);
}

TEST_LONG(trace, discarded)
{
	filled(self);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DONTNEED));
	check_tables(_metadata, self, tables(variant->on, NR_TABLES), "discard");
}

TEST_LONG(trace, moved)
{
	char *to = map_aligned(LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	ASSERT_NE(MAP_FAILED, to);
	filled(self);
	start(self);
	/* Alignment differs, so mremap() moves page by page, not whole tables. */
	ASSERT_EQ(to + PAGE, mremap(self->mem, LEN - PMD, LEN - PMD,
				    MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to + PAGE));
	check_tables(_metadata, self, tables(variant->on, NR_TABLES - 1), "move");
}

TEST_LONG(trace, uffd_moved)
{
	char *to = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int uffd = uffd_watch(to, LEN, UFFD_FEATURE_MOVE, UFFDIO_REGISTER_MODE_MISSING);
	struct uffdio_move move = {
		.dst = (uintptr_t)to, .src = (uintptr_t)self->mem, .len = LEN
	};

	if (uffd < 0)
		SKIP(return, "needs UFFDIO_MOVE");
	filled(self);
	start(self);
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_MOVE, &move));
	check_tables(_metadata, self, tables(variant->on, NR_TABLES), "move");
	close(uffd);
}

TEST_LONG(trace, worker)
{
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	check_tables(_metadata, self, tables(variant->on, NR_TABLES), "worker");
}

/* The child reclaims what its parent has filled, when it is told to. */
static pid_t reclaimer(const int *pipes)
{
	pid_t child = fork();
	char token;

	if (child)
		return child;
	close(pipes[1]);
	if (read(pipes[0], &token, 1) == 1)
		reclaim_file(2 * LEN);
	_exit(0);
}

TEST_LONG(trace, reclaimed)
{
	int pipes[2], status;
	pid_t child;

	ASSERT_EQ(0, pipe(pipes));
	child = reclaimer(pipes);
	ASSERT_LT(0, child);
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	start(self);
	ASSERT_EQ(1, write(pipes[1], "x", 1));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT | PM_SWAP));
	check_tables(_metadata, self, tables(variant->on, NR_TABLES), "worker or shrinker");
}

TEST_LONG(trace, shrinker)
{
	long nr = tables(variant->on, NR_TABLES);

	if (switch_has(UNMAP_TABLES) && !write_text(POLICY, "pressure"))
		SKIP(return, "no policy pressure");
	filled(self);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DONTNEED));
	stop(self, "table_free");
	EXPECT_EQ(0, count_mine(self));
	usleep(AGE);
	for (int i = 0; i < SOON && count_mine(self) < nr; i++) {
		reclaim_all(MIB);
		stop(self, "table_free");
	}
	check_tables(_metadata, self, nr, "shrinker");
}

/* Reclaim the memory; only events that @filter lets through are recorded. */
static void reclaim_filtered(struct __test_metadata *_metadata, struct _test_data_trace *self,
			     const char *filter)
{
	char text[32];

	snprintf(text, sizeof(text), "owner %s %d", filter, getpid());
	ASSERT_TRUE(write_text(EVENTS "filter", text));
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	ASSERT_EQ(0, count_pages(self->mem, LEN, PM_PRESENT | PM_SWAP));
	stop(self, "run");
}

TEST_LONG(trace, filtered)
{
	reclaim_filtered(_metadata, self, "==");
	EXPECT_EQ(variant->on ? PAGES : 0, count_pages_of_runs(self));
	EXPECT_EQ(self->nr, count_mine(self));
	reclaim_filtered(_metadata, self, "!=");
	EXPECT_EQ(0, count_here(self));
}

static const char * const kinds[] = {
	"file", "lazyfree", "swap", "poison", "unused", "hugetlb", NULL
};

/* There is no reason 0. */
static const char * const reasons[] = {
	"redirtied", "referenced", "pinned", "no_swap", "swap_count", "arch", NULL
};

static const char * const bys[] = { "discard", "move", "worker", "shrinker", "drop", NULL };

/* The format of the event lists the names, and numbers them from @nr on. */
static bool are_listed(const char *event, const char * const *names, int nr)
{
	char path[128], format[4096], entry[32];

	snprintf(path, sizeof(path), EVENTS "%s/format", event);
	CHECK(read_text(path, format, sizeof(format)));
	for (; *names; names++) {
		snprintf(entry, sizeof(entry), "{ %d, \"%s\" }", nr++, *names);
		CHECK(strstr(format, entry));
	}
	return true;
}

TEST_LONG(trace, names)
{
	EXPECT_TRUE(are_listed("run", kinds, 0));
	EXPECT_TRUE(are_listed("put_back", reasons, 1));
	EXPECT_TRUE(are_listed("table_free", bys, 0));
}

TEST_HARNESS_MAIN
