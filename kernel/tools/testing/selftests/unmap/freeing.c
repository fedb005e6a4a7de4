// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sizes of LRU lists after memory was freed (law 13): of the control group, the node, the
 * zones, and of MGLRU's generations.  Each test runs with the classic LRU and with MGLRU.
 *
 * unmapped      munmap(), or truncation of a file: each size is what it was before
 * dontneed      the same for MADV_DONTNEED, in pieces of odd length
 * exits         the same for a process that exits
 * referenced    pages that somebody else holds stay on their lists until they are released
 * ages          active and inactive pages, or old and young ones, in turn
 * groups        pages of two control groups in turn
 * removed       one of them was removed before: since Linux 7.3 its parent's lists have its pages
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/unmap_util.h"

#define LEN		RANGE
#define PAGES		((long)(LEN / PAGE))
#define SEED		31
#define ODD		37	/* pages: more than one batch of the kernel has */
#define TIME_LIMIT	300	/* seconds: on a very busy machine, too */
#define LRU_GEN		"/sys/kernel/debug/lru_gen"
#define LRU_GEN_ON	"/sys/kernel/mm/lru_gen/enabled"

/* What the test itself, and what others, may allocate or free meanwhile, in pages. */
#define OWN		16
#define NOISE		48
/* OWN, and a folio: one fault of the test itself has a whole one. */
static long own;

/* The kernel brings a control group's statistics up to date every two seconds. */
#define TRIES		40
#define WAIT		100000	/* us */

enum kind { ANON, LAZYFREE, LOCKED, SHMEM, FILE_SHARED };

enum list { INACTIVE_ANON, ACTIVE_ANON, INACTIVE_FILE, ACTIVE_FILE, UNEVICTABLE, LISTS };

static const char * const list_names[LISTS] = {
	"inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable"
};

struct sizes {
	long long group[LISTS], node[LISTS], zones[LISTS];
	long long gen_anon, gen_file;
};

/* The sum of all generations that debugfs shows for control group @name. */
static void sum_generations(const char *name, struct sizes *sizes)
{
	unsigned long long seq, ms, anon, file;
	FILE *shown = fopen(LRU_GEN, "r");
	bool ours = false;
	char line[256];

	sizes->gen_file = 0;
	sizes->gen_anon = 0;
	while (shown && fgets(line, sizeof(line), shown)) {
		if (!strncmp(line, "memcg", strlen("memcg")))
			ours = strstr(line, name);
		if (!ours || sscanf(line, "%llu %llu %llu %llu", &seq, &ms, &anon, &file) != 4)
			continue;
		sizes->gen_anon += anon;
		sizes->gen_file += file;
	}
	if (shown)
		fclose(shown);
}

static void read_group(struct sizes *sizes)
{
	for (int i = 0; i < LISTS; i++)
		sizes->group[i] = cgroup_stat(list_names[i]) / (long long)PAGE;
}

static void read_sizes(struct sizes *sizes)
{
	char name[64];

	/* Adds up what each CPU holds back. */
	write_text("/proc/sys/vm/stat_refresh", "1");
	for (int i = 0; i < LISTS; i++) {
		snprintf(name, sizeof(name), "nr_%s", list_names[i]);
		sizes->node[i] = vmstat(name);
		snprintf(name, sizeof(name), "nr_zone_%s", list_names[i]);
		sizes->zones[i] = vmstat(name);
	}
	snprintf(name, sizeof(name), "/unmap-%d\n", getpid());
	sum_generations(name, sizes);
	read_group(sizes);
}

/* Pages wait in batches of this CPU before they get on a list: MADV_COLD drains these. */
static void drain(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(page, PAGE, MADV_COLD);
	munmap(page, PAGE);
}

FIXTURE(freeing) {
	struct sizes before;
	char generations[16];
	int fd;
	char *mem;
};

FIXTURE_VARIANT(freeing) {
	enum kind kind;
	unsigned long kib;
	bool generations;
	bool on;
};

#define VARIANT(name, what, size, gen, switched)				\
	FIXTURE_VARIANT_ADD(freeing, name) {					\
		.kind = what, .kib = FOLIO_KIB(size), .generations = gen, .on = switched }

#define VARIANTS(prefix, what, size)						\
	VARIANT(prefix ## _ ## size ## K_on, what, size, false, true);		\
	VARIANT(prefix ## _ ## size ## K_off, what, size, false, false);	\
	VARIANT(prefix ## _ ## size ## K_mglru_on, what, size, true, true);	\
	VARIANT(prefix ## _ ## size ## K_mglru_off, what, size, true, false)

VARIANTS(anon, ANON, 4);
VARIANTS(anon, ANON, 64);
VARIANTS(lazyfree, LAZYFREE, 4);
VARIANTS(locked, LOCKED, 4);
VARIANTS(shmem, SHMEM, 4);
VARIANTS(file, FILE_SHARED, 4);
VARIANTS(file, FILE_SHARED, 64);

static int open_kind(enum kind kind, unsigned long kib)
{
	int fd;

	if (kind == FILE_SHARED)
		return xfs_file(LEN, SEED, kib);
	if (kind != SHMEM)
		return dup(STDIN_FILENO);
	fd = memfd_create("unmap", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, LEN) ? fd : -1;
}

/* LEN bytes of the kind, in memory and on their lists; NULL if that fails. */
static char *populate(enum kind kind, int fd)
{
	bool shared = kind == SHMEM || kind == FILE_SHARED;
	int flags = shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, err = 0;
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, flags, shared ? fd : -1);

	if (mem == MAP_FAILED)
		return NULL;
	if (kind == FILE_SHARED)
		err = madvise(mem, LEN, MADV_POPULATE_READ);
	else
		fill(mem, LEN, SEED);
	drain();
	if (kind == LAZYFREE)
		err = madvise(mem, LEN, MADV_FREE);
	else if (kind == LOCKED)
		err = mlock(mem, LEN);
	drain();
	return err ? NULL : mem;
}

/* The sum of a pair of lists, or the list of unevictable pages. */
static long long sum(const long long *lists, enum list first)
{
	return first == UNEVICTABLE ? lists[first] : lists[first] + lists[first + 1];
}

static enum list lists_of(enum kind kind)
{
	if (kind == LOCKED)
		return UNEVICTABLE;
	return kind == LAZYFREE || kind == FILE_SHARED ? INACTIVE_FILE : INACTIVE_ANON;
}

/*
 * Wait until the control group's lists of the kind have grown by @grown pages; return by how
 * many they have.
 */
static long long group_grown(const struct sizes *before, enum kind kind, long long grown)
{
	enum list first = lists_of(kind);
	long long now = 0;
	struct sizes sizes;

	for (int i = 0; i < TRIES; i++) {
		read_group(&sizes);
		now = sum(sizes.group, first) - sum(before->group, first);
		if (llabs(now - grown) <= own)
			break;
		usleep(WAIT);
	}
	return now;
}

/* The lists of the kind have grown by @grown pages. */
static void expect_grown(struct __test_metadata *_metadata, const struct sizes *before,
			 enum kind kind, bool generations, long long grown)
{
	enum list first = lists_of(kind);
	long long grown_gens;
	struct sizes now;

	EXPECT_GE(own, llabs(group_grown(before, kind, grown) - grown));
	read_sizes(&now);
	EXPECT_GE(NOISE, llabs(sum(now.node, first) - sum(before->node, first) - grown));
	EXPECT_GE(NOISE, llabs(sum(now.zones, first) - sum(before->zones, first) - grown));
	grown_gens = first == INACTIVE_ANON ? now.gen_anon - before->gen_anon :
					      now.gen_file - before->gen_file;
	/* Unevictable pages are in no generation. */
	EXPECT_GE(own, llabs(grown_gens - (generations && kind != LOCKED ? grown : 0)));
}

/* Each list for itself is as long as before. */
static void expect_as_before(struct __test_metadata *_metadata, const struct sizes *before,
			     enum kind kind)
{
	struct sizes now;

	EXPECT_GE(own, llabs(group_grown(before, kind, 0)));
	read_sizes(&now);
	for (int i = 0; i < LISTS; i++) {
		EXPECT_GE(own, llabs(now.group[i] - before->group[i]))
			TH_LOG("%s", list_names[i]);
		EXPECT_GE(NOISE, llabs(now.node[i] - before->node[i]));
		EXPECT_GE(NOISE, llabs(now.zones[i] - before->zones[i]));
	}
	EXPECT_GE(own, llabs(now.gen_anon - before->gen_anon));
	EXPECT_GE(own, llabs(now.gen_file - before->gen_file));
}

FIXTURE_SETUP(freeing)
{
	const char *missing;

	own = OWN + (long)(variant->kib * KIB / PAGE);
	missing = begin(variant->kib, variant->on);
	if (missing)
		SKIP(return, "%s", missing);
	self->fd = -1;
	if (!read_text(LRU_GEN_ON, self->generations, sizeof(self->generations)) ||
	    !write_text(LRU_GEN_ON, variant->generations ? "7" : "0")) {
		end();
		SKIP(return, "needs CONFIG_LRU_GEN");
	}
	/* What this process needs in order to read them is allocated the first time. */
	read_sizes(&self->before);
	drain();
	read_sizes(&self->before);
	self->fd = open_kind(variant->kind, variant->kib);
	if (self->fd < 0) {
		write_text(LRU_GEN_ON, self->generations);
		end();
		SKIP(return, "needs XFS at /mnt");
	}
	self->mem = populate(variant->kind, self->fd);
	ASSERT_NE(NULL, self->mem);
	ASSERT_TRUE(folios_are(self->mem, LEN, variant->kib));
	expect_grown(_metadata, &self->before, variant->kind, variant->generations, PAGES);
}

FIXTURE_TEARDOWN(freeing)
{
	write_text(LRU_GEN_ON, self->generations);
	close(self->fd);
	end();
}

TEST_LONG(freeing, unmapped)
{
	if (variant->kind == SHMEM || variant->kind == FILE_SHARED)
		ASSERT_EQ(0, ftruncate(self->fd, 0));
	ASSERT_EQ(0, munmap(self->mem, LEN));
	expect_as_before(_metadata, &self->before, variant->kind);
}

/* Its pages must be freed by MADV_DONTNEED alone. */
static bool is_private(enum kind kind)
{
	return kind == ANON || kind == LAZYFREE;
}

TEST_LONG(freeing, dontneed)
{
	if (!is_private(variant->kind))
		SKIP(return, "MADV_DONTNEED frees private memory only");
	for (size_t at = 0; at < LEN; at += ODD * PAGE)
		ASSERT_EQ(0, madvise(self->mem + at,
				     LEN - at < ODD * PAGE ? LEN - at : ODD * PAGE,
				     MADV_DONTNEED));
	expect_as_before(_metadata, &self->before, variant->kind);
	munmap(self->mem, LEN);
}

TEST_LONG(freeing, exits)
{
	int status;
	pid_t pid;

	if (!is_private(variant->kind))
		SKIP(return, "a process that exits frees its private memory only");
	munmap(self->mem, LEN);
	pid = fork();
	if (!pid)
		_exit(!populate(variant->kind, self->fd));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	expect_as_before(_metadata, &self->before, variant->kind);
}

TEST_LONG(freeing, referenced)
{
	long held = 0, step = 7 * variant->kib * KIB / PAGE;
	struct pin pin;

	if (!is_private(variant->kind))
		SKIP(return, "MADV_DONTNEED frees private memory only");
	ASSERT_TRUE(pin_open(&pin));
	for (long i = 0; i < PAGES && held < 8; i += step, held++)
		ASSERT_TRUE(pin_page(&pin, self->mem + i * PAGE));
	drain();
	ASSERT_EQ(0, madvise(self->mem, LEN, MADV_DONTNEED));
	expect_grown(_metadata, &self->before, variant->kind, variant->generations,
		     held * (long)(variant->kib * KIB / PAGE));
	unpin(&pin);
	drain();
	expect_as_before(_metadata, &self->before, variant->kind);
	munmap(self->mem, LEN);
}

/* Reading a page as another process would marks it as accessed. */
static bool read_as_other(const char *mem)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { (void *)mem, 1 };

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

/* Make one page in three cold, all others hot; then free them together. */
TEST_LONG(freeing, ages)
{
	struct sizes now;

	if (variant->kind != ANON || variant->kib != 4)
		SKIP(return, "for single anonymous pages");
	for (int i = 0; i < 3; i++) {
		for (long page = 0; page < PAGES; page++)
			ASSERT_TRUE(read_as_other(self->mem + page * PAGE));
		drain();
	}
	for (long i = 0; i < PAGES; i += 3)
		ASSERT_EQ(0, madvise(self->mem + i * PAGE, PAGE, MADV_COLD));
	drain();
	read_sizes(&now);
	if (!variant->generations) {
		EXPECT_LT(PAGES / 4, now.group[INACTIVE_ANON] - self->before.group[INACTIVE_ANON]);
		EXPECT_LT(PAGES / 2, now.group[ACTIVE_ANON] - self->before.group[ACTIVE_ANON]);
	}
	ASSERT_EQ(0, munmap(self->mem, LEN));
	expect_as_before(_metadata, &self->before, variant->kind);
}

/* A file of shared memory whose even pages are charged to another control group. */
struct shared {
	char other[64];
	char *mem;
	int fd;
};

static void touch_every_other(char *mem, long first)
{
	for (long i = first; i < PAGES; i += 2)
		mem[i * PAGE] = 1;
	drain();
}

static bool touch_in_other(struct shared *shared)
{
	char path[96];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", shared->other);
	pid = fork();
	if (!pid) {
		if (!write_number(path, getpid()))
			_exit(1);
		touch_every_other(shared->mem, 0);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

static bool share(struct shared *shared)
{
	snprintf(shared->other, sizeof(shared->other), CGROUP_ROOT "/unmap-other-%d", getpid());
	shared->fd = memfd_create("unmap", MFD_CLOEXEC);
	if (shared->fd < 0 || ftruncate(shared->fd, LEN))
		return false;
	shared->mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd);
	if (shared->mem == MAP_FAILED || mkdir(shared->other, 0755) || !touch_in_other(shared))
		return false;
	touch_every_other(shared->mem, 1);
	return true;
}

static void expect_other_empty(struct __test_metadata *_metadata, const struct shared *shared)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/memory.stat", shared->other);
	for (int i = 0; i < TRIES && read_named(path, "inactive_anon"); i++)
		usleep(WAIT);
	EXPECT_EQ(0, read_named(path, "inactive_anon"));
	EXPECT_EQ(0, read_named(path, "active_anon"));
}

TEST_LONG(freeing, groups)
{
	struct shared shared;

	if (variant->kind != SHMEM)
		SKIP(return, "for shared memory");
	ASSERT_TRUE(share(&shared));
	EXPECT_GE(own, llabs(group_grown(&self->before, SHMEM, PAGES + PAGES / 2) -
			     (PAGES + PAGES / 2)));
	ASSERT_EQ(0, ftruncate(shared.fd, 0));
	expect_grown(_metadata, &self->before, SHMEM, variant->generations, PAGES);
	expect_other_empty(_metadata, &shared);
	rmdir(shared.other);
}

TEST_LONG(freeing, removed)
{
	struct shared shared;

	if (variant->kind != SHMEM)
		SKIP(return, "for shared memory");
	ASSERT_TRUE(share(&shared));
	ASSERT_EQ(0, rmdir(shared.other));
	ASSERT_EQ(0, ftruncate(shared.fd, 0));
	expect_grown(_metadata, &self->before, SHMEM, variant->generations, PAGES);
}

TEST_HARNESS_MAIN
