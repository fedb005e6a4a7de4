// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace points unmap:run, unmap:put_back and unmap:table_free say what was done, and
 * there are as many events as the counters in stat say.
 *
 * lazyfree    one event for each run, with its address, frame, length, kind and flush
 * file        the same for files
 * swap        the same for memory that is swapped
 * referenced  a run that was put back because of an extra reference
 * redirtied   a run that was put back because it was written after MADV_FREE
 * discarded   one event for each page table that MADV_DONTNEED frees
 * moved       that mremap() frees
 * own         that reclaim by the process itself has emptied
 * worker      that reclaim by another process has emptied
 * shrinker    that were kept until memory is short
 * filtered    events are filtered by the process that the memory belongs to
 * names       tools are told the numbers of kinds and reasons
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "unmap_util.h"

#define TRACEFS		"/sys/kernel/tracing"
#define BUFFER		TRACEFS "/instances/unmap_test"
#define EVENTS		BUFFER "/events/unmap/"
#define POLICY		UNMAP_SYSFS "tables_policy"

#define NR_TABLES	4
#define LEN		(NR_TABLES * PMD)
#define PAGES		((long)(LEN / PAGE))
/* Reclaim spares tables that became empty less than 20 ms ago. */
#define AGE		100000	/* us */
/* Tenths of a second. */
#define SOON		100

/* One event; @word is its kind, its reason, or who freed the table. */
struct event {
	char name[16], word[16], flush[8];
	unsigned long addr, pfn;
	unsigned int nr, folio;
	int owner;
};

FIXTURE(trace) {
	char *mem;
	__u64 frames[LEN / PAGE];
	struct event events[LEN / PAGE + 1];
	long nr;
	long long runs, entries, noted, put_back, freed;
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
static long read_events(const char *name, struct event *events, long max)
{
	FILE *file = fopen(BUFFER "/trace", "r");
	char line[256];
	long nr = 0;

	while (file && nr < max && fgets(line, sizeof(line), file))
		nr += parse(line, &events[nr]) && !strcmp(events[nr].name, name);
	if (file)
		fclose(file);
	return nr;
}

static void read_stat(struct _test_data_trace *self)
{
	self->runs = unmap_stat("evict_runs");
	self->entries = unmap_stat("evict_entries");
	self->noted = unmap_stat("flushes_deferred");
	self->put_back = unmap_stat("put_back_runs");
	self->freed = unmap_stat("tables_freed");
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
	forget_events();
	read_stat(self);
}

static void stop(struct _test_data_trace *self, const char *name)
{
	self->nr = read_events(name, self->events, PAGES + 1);
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
	write_text(POLICY, "eager");
	rmdir(BUFFER);
	end();
}

static char *filled(struct _test_data_trace *self)
{
	fill(self->mem, LEN, 1);
	return self->mem;
}

static bool is_mine(const struct _test_data_trace *self, const struct event *e)
{
	return e->owner == getpid() && e->addr >= (unsigned long)self->mem &&
	       e->addr < (unsigned long)self->mem + LEN;
}

/* Whether the event says what is true of the folio that was at its address. */
static bool is_right_run(const struct _test_data_trace *self, const struct event *e,
			 unsigned long kib, const char *word)
{
	long at = (e->addr - (unsigned long)self->mem) / PAGE;

	return is_mine(self, e) && e->addr % (kib * KIB) == 0 && e->nr == kib * KIB / PAGE &&
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

/* All of the memory has been reclaimed since start(). */
static void check_runs(struct __test_metadata *_metadata, struct _test_data_trace *self,
		       unsigned long kib, bool on, const char *kind)
{
	stop(self, "run");
	if (!on) {
		EXPECT_EQ(0, self->nr);
		return;
	}
	EXPECT_EQ(unmap_stat("evict_runs") - self->runs, self->nr);
	EXPECT_EQ(unmap_stat("evict_entries") - self->entries, count_pages_of_runs(self));
	EXPECT_EQ(unmap_stat("flushes_deferred") - self->noted, count_noted(self));
	EXPECT_EQ(PAGES, count_pages_of_runs(self));
	EXPECT_EQ(0, count_wrong_runs(self, kib, kind));
}

TEST_F(trace, lazyfree)
{
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	check_runs(_metadata, self, variant->kib, variant->on, "lazyfree");
}

TEST_F(trace, file)
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

TEST_F(trace, swap)
{
	if (!swap_is_on() || !swap_has_room(LEN))
		SKIP(return, "no swap");
	filled(self);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	ASSERT_EQ(PAGES, count_pages(self->mem, LEN, PM_SWAP));
	stop(self, "run");
	if (is_split(self))
		SKIP(return, "no room in swap for whole folios");
	check_runs(_metadata, self, variant->kib, variant->on, "swap");
}

/* Only the first folio stays. */
static void check_put_back(struct __test_metadata *_metadata, struct _test_data_trace *self,
			   unsigned long kib, bool on, const char *reason)
{
	stop(self, "put_back");
	EXPECT_EQ(unmap_stat("put_back_runs") - self->put_back, self->nr);
	if (on)
		EXPECT_LT(0, self->nr);
	EXPECT_EQ(0, count_wrong_runs(self, kib, reason));
	for (long i = 0; i < self->nr; i++)
		EXPECT_EQ((unsigned long)self->mem, self->events[i].addr);
}

TEST_F(trace, referenced)
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

TEST_F(trace, redirtied)
{
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	WRITE_ONCE(self->mem[0], 7);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	check_put_back(_metadata, self, variant->kib, variant->on, "redirtied");
}

/* The worker may be faster than the process itself. */
static bool is_freed_by(const struct event *e, const char *by)
{
	return !strcmp(e->word, by) || (!strcmp(by, "own") && !strcmp(e->word, "worker"));
}

/* Each table of the memory was freed once. */
static void check_tables(struct __test_metadata *_metadata, struct _test_data_trace *self,
			 bool on, const char *by)
{
	long times[NR_TABLES] = {}, by_whom = 0;

	stop(self, "table_free");
	EXPECT_EQ(unmap_stat("tables_freed") - self->freed, self->nr);
	for (long i = 0; i < self->nr; i++) {
		const struct event *e = &self->events[i];

		if (!is_mine(self, e))
			continue;
		EXPECT_EQ(0UL, e->addr % PMD);
		EXPECT_TRUE(is_freed_by(e, by));
		by_whom += !strcmp(e->word, by);
		times[(e->addr - (unsigned long)self->mem) / PMD]++;
	}
	for (int i = 0; i < NR_TABLES; i++)
		EXPECT_EQ(on && switch_has(UNMAP_TABLES), times[i]);
	EXPECT_EQ(on && switch_has(UNMAP_TABLES), by_whom > 0);
}

static long count_mine(const struct _test_data_trace *self)
{
	long mine = 0;

	for (long i = 0; i < self->nr; i++)
		mine += is_mine(self, &self->events[i]);
	return mine;
}

/* Wait until all tables are freed. */
static void await_tables(struct _test_data_trace *self)
{
	stop(self, "table_free");
	for (int i = 0; i < SOON && count_mine(self) < NR_TABLES; i++) {
		usleep(100000);
		stop(self, "table_free");
	}
}

TEST_F(trace, discarded)
{
	filled(self);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DONTNEED));
	check_tables(_metadata, self, variant->on, "discard");
}

TEST_F(trace, moved)
{
	char *to = map_aligned(LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	ASSERT_NE(MAP_FAILED, to);
	filled(self);
	start(self);
	/* Alignment differs, so mremap() moves page by page, not whole tables. */
	ASSERT_EQ(to + PAGE, mremap(self->mem, LEN - PMD, LEN - PMD,
				    MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to + PAGE));
	stop(self, "table_free");
	EXPECT_EQ(unmap_stat("tables_freed") - self->freed, self->nr);
	if (variant->on && switch_has(UNMAP_TABLES))
		EXPECT_EQ(NR_TABLES - 1, self->nr);
	for (long i = 0; i < self->nr; i++)
		EXPECT_STREQ("move", self->events[i].word);
}

TEST_F(trace, own)
{
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	check_tables(_metadata, self, variant->on, "own");
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

TEST_F(trace, worker)
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
	if (variant->on && switch_has(UNMAP_TABLES))
		await_tables(self);
	check_tables(_metadata, self, variant->on, "worker");
}

TEST_F(trace, shrinker)
{
	ASSERT_TRUE(write_text(POLICY, "pressure") || !switch_has(UNMAP_TABLES));
	filled(self);
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DONTNEED));
	stop(self, "table_free");
	EXPECT_EQ(0, self->nr);
	usleep(AGE);
	for (int i = 0; variant->on && i < SOON &&
	     unmap_stat("tables_freed") - self->freed < NR_TABLES; i++)
		reclaim_all(MIB);
	check_tables(_metadata, self, variant->on, "shrinker");
}

TEST_F(trace, filtered)
{
	char filter[32];

	snprintf(filter, sizeof(filter), "owner != %d", getpid());
	ASSERT_TRUE(write_text(EVENTS "filter", filter));
	ASSERT_EQ(0, madvise(filled(self), LEN, MADV_FREE));
	start(self);
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_PAGEOUT));
	for (long i = read_events("run", self->events, PAGES) - 1; i >= 0; i--)
		EXPECT_FALSE(is_mine(self, &self->events[i]));
}

static bool format_has(const char *event, const char *text)
{
	char path[128], format[4096];

	snprintf(path, sizeof(path), EVENTS "%s/format", event);
	return read_text(path, format, sizeof(format)) && strstr(format, text);
}

TEST_F(trace, names)
{
	EXPECT_TRUE(format_has("run", "{ 1, \"lazyfree\" }"));
	EXPECT_TRUE(format_has("put_back", "{ 1, \"redirtied\" }"));
	EXPECT_TRUE(format_has("table_free", "{ 4, \"shrinker\" }"));
}

TEST_HARNESS_MAIN
