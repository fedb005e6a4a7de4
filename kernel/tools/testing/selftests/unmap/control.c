// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/mm/unmap: what it shows, takes and refuses.
 *
 * boot_parameter unmap= on the kernel's command line is in force
 * shows          the mask is printed as 0x%04x
 * accepts        0, 1, hexadecimal, y and n
 * refuses        anything else, with EINVAL and no effect
 * max_run        1 to 512, nothing else
 * tables_policy  adaptive, eager, huge or pressure, nothing else
 * run_of_one     with max_run 1 every run has one entry, and contents are right
 * run_of_three   max_run 3 divides no folio size: the last run of a folio is shorter
 * off            with the switch off no counter changes (law 10)
 * flipped        switching on and off during reclaim, on another CPU, loses no content
 * stat_lines     every line is a name and a number, all documented names are there
 * permissions    only root can write settings and read counters
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "lib/unmap_util.h"

#define ENABLED	UNMAP_SYSFS "enabled"
#define MAX_RUN	UNMAP_SYSFS "max_run"
#define STAT	UNMAP_SYSFS "stat"
#define TIME_LIMIT	600	/* seconds: on a very busy machine, too */

#define LEN	RANGE
#define PAGES	((long)(LEN / PAGE))

FIXTURE(control) {
	char enabled[16];
	char max_run[16];
};

FIXTURE_SETUP(control)
{
	const char *missing;

	if (access(ENABLED, F_OK))
		SKIP(return, "this kernel has no mm/unmap");
	missing = begin(16 * PAGE / KIB, true);
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_TRUE(read_text(ENABLED, self->enabled, sizeof(self->enabled)));
	ASSERT_TRUE(read_text(MAX_RUN, self->max_run, sizeof(self->max_run)));
}

FIXTURE_TEARDOWN(control)
{
	write_text(MAX_RUN, self->max_run);
	end();
}

/* 0, or the errno of writing @text to @path. */
static int write_error(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

/* All bits that this kernel has. */
static long all_bits(void)
{
	return access(UNMAP_SYSFS "drop_idle_ms", F_OK) ? 0xf : 0x1f;
}

/* Earlier test programs have restored the switch. */
TEST(boot_parameter)
{
	const char *word;
	char line[4096];

	if (access(ENABLED, F_OK))
		SKIP(return, "this kernel has no mm/unmap");
	ASSERT_TRUE(read_text("/proc/cmdline", line, sizeof(line)));
	word = strstr(line, "unmap=");
	if (!word)
		SKIP(return, "booted without unmap=");
	EXPECT_EQ(word[strlen("unmap=")] != 'n', read_field(ENABLED, ""));
}

TEST_LONG(control, shows)
{
	char text[16], all[16];

	snprintf(all, sizeof(all), "0x%04lx\n", all_bits());
	ASSERT_EQ(0, write_error(ENABLED, "1"));
	ASSERT_TRUE(read_text(ENABLED, text, sizeof(text)));
	EXPECT_STREQ("0x0001\n", text);
	ASSERT_EQ(0, write_error(ENABLED, "y"));
	ASSERT_TRUE(read_text(ENABLED, text, sizeof(text)));
	EXPECT_STREQ(all, text);
	ASSERT_EQ(0, write_error(ENABLED, "0"));
	ASSERT_TRUE(read_text(ENABLED, text, sizeof(text)));
	EXPECT_STREQ("0x0000\n", text);
}

TEST_LONG(control, accepts)
{
	long all = all_bits();
	const struct {
		const char *text;
		long on;
	} cases[] = {
		{ "0", 0 }, { "1", 1 }, { "n", 0 }, { "y", all }, { "N\n", 0 }, { "Y\n", all },
		{ "0x0", 0 }, { "0x0001\n", 1 }, { "0x0000", 0 }, { "2\n", 2 }, { "3", 3 },
		{ "8", 8 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(0, write_error(ENABLED, cases[i].text));
		EXPECT_EQ(cases[i].on, read_field(ENABLED, "")) {
			TH_LOG("after writing '%s'", cases[i].text);
		}
	}
}

TEST_LONG(control, refuses)
{
	static const char * const texts[] = {
		"maybe", "-1", "32", "47", "0x10000", "1 1", "1x", "99999999999", "x"
	};

	ASSERT_EQ(0, write_error(ENABLED, "1"));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		EXPECT_EQ(EINVAL, write_error(ENABLED, texts[i])) {
			TH_LOG("after writing '%s'", texts[i]);
		}
	}
	EXPECT_EQ(1, read_field(ENABLED, ""));
}

TEST_LONG(control, max_run)
{
	char table[16], more[16];
	const char * const good[] = { "1", "2", "3", "511", "512", table, "0x10" };
	const char * const bad[] = { "0", more, "-1", "many", "4294967297" };

	snprintf(table, sizeof(table), "%lu", PMD / PAGE);
	snprintf(more, sizeof(more), "%lu", PMD / PAGE + 1);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		EXPECT_EQ(0, write_error(MAX_RUN, good[i]));
		EXPECT_EQ(strtol(good[i], NULL, 0), read_field(MAX_RUN, ""));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(EINVAL, write_error(MAX_RUN, bad[i]));
	EXPECT_EQ(16, read_field(MAX_RUN, ""));
}

/* Leaves the policy as it was. */
TEST_LONG(control, tables_policy)
{
	static const char * const bad[] = { "lazy", "eager pressure", "1" };
	char before[48], text[48];
	bool pressure;

	ASSERT_TRUE(read_text(POLICY, before, sizeof(before)));
	pressure = strstr(before, "pressure");	/* PREEMPT_RT does not offer it */
	EXPECT_EQ(pressure ? 0 : EINVAL, write_error(POLICY, "pressure\n"));
	ASSERT_TRUE(read_text(POLICY, text, sizeof(text)));
	EXPECT_STREQ(pressure ? "adaptive eager huge [pressure]\n" :
				"[adaptive] eager huge\n", text);
	EXPECT_EQ(0, write_error(POLICY, "huge"));
	EXPECT_TRUE(read_text(POLICY, text, sizeof(text)));
	EXPECT_STREQ(pressure ? "adaptive eager [huge] pressure\n" :
				"adaptive eager [huge]\n", text);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(EINVAL, write_error(POLICY, bad[i]));
	EXPECT_EQ(0, write_error(POLICY, "eager"));
	ASSERT_TRUE(read_text(POLICY, text, sizeof(text)));
	EXPECT_STREQ(pressure ? "adaptive [eager] huge pressure\n" :
				"adaptive [eager] huge\n", text);
	EXPECT_EQ(0, write_error(POLICY, "adaptive"));
	ASSERT_TRUE(read_text(POLICY, text, sizeof(text)));
	EXPECT_STREQ(pressure ? "[adaptive] eager huge pressure\n" :
				"[adaptive] eager huge\n", text);
	/* The one that was in force stands in brackets. */
	before[strcspn(before, "]")] = '\0';
	EXPECT_EQ(0, write_error(POLICY, strchr(before, '[') + 1));
}

static char *lazyfree(void)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (mem == MAP_FAILED)
		return NULL;
	fill(mem, LEN, 1);
	return madvise(mem, LEN, MADV_FREE) ? NULL : mem;
}

/* With runs of at most @limit, each folio of 16 pages takes @expected runs. */
static void check_limit(struct __test_metadata *_metadata, const char *limit, long expected)
{
	long long runs = unmap_stat("evict_runs"), entries = unmap_stat("evict_entries");
	char *mem = lazyfree();

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, write_error(MAX_RUN, limit));
	ASSERT_EQ(0, madvise(mem, LEN, MADV_PAGEOUT));
	EXPECT_EQ(0, count_pages(mem, LEN, PM_PRESENT | PM_SWAP));
	EXPECT_EQ(0, count_not_zero(mem, LEN));
	EXPECT_EQ(PAGES, unmap_stat("evict_entries") - entries);
	EXPECT_EQ(PAGES / 16 * expected, unmap_stat("evict_runs") - runs);
}

TEST_LONG(control, run_of_one)
{
	check_limit(_metadata, "1", 16);
}

TEST_LONG(control, run_of_three)
{
	check_limit(_metadata, "3", 6);
}

/* Memory is filled, purged in part, reclaimed and unmapped. */
static bool use_memory(void)
{
	char *mem = lazyfree();

	return mem && !madvise(mem, LEN / 2, MADV_DONTNEED) &&
	       !madvise(mem, LEN, MADV_PAGEOUT) && !munmap(mem, LEN);
}

TEST_LONG(control, off)
{
	char before[4096], after[4096];

	ASSERT_TRUE(read_text(STAT, before, sizeof(before)));
	ASSERT_TRUE(use_memory());
	ASSERT_TRUE(read_text(STAT, after, sizeof(after)));
	EXPECT_STRNE(before, after);
	ASSERT_TRUE(switch_all(false));
	ASSERT_TRUE(read_text(STAT, before, sizeof(before)));
	ASSERT_TRUE(use_memory());
	ASSERT_TRUE(read_text(STAT, after, sizeof(after)));
	EXPECT_STREQ(before, after);
}

#define ROUNDS	10
#define MOST	2000	/* rounds, if too few of them meet a flip */
#define PAUSE	100	/* microseconds, between two flips */
#define MET	20	/* times that memory was reclaimed while the switch was flipped */

/*
 * Switch back and forth until killed, and count that.  With pauses: where processors take turns,
 * the end of a pause is what interrupts the other processor, at any place in the kernel.
 */
static void flip(long *flips)
{
	unsigned int seed = getpid();

	prctl(PR_SET_TIMERSLACK, 1);
	use_cpu(1);
	for (;;) {
		write_text(ENABLED, *flips % 2 ? "1" : "0");
		__atomic_fetch_add(flips, 1, __ATOMIC_RELAXED);
		usleep(rand_r(&seed) % PAUSE);
	}
}

/* Reclaim memory of which a few pages were written again.  Returns how many of those it lost. */
static long lost_in_reclaim(char *mem)
{
	long lost = 0;

	for (long i = 0; i < PAGES; i += 40)
		memset(mem + i * PAGE, 77, PAGE);
	if (madvise(mem, LEN, MADV_PAGEOUT))
		return -1;
	for (long i = 0; i < PAGES; i += 40)
		lost += !page_is(mem + i * PAGE, 77);
	return lost;
}

TEST_LONG(control, flipped)
{
	long *flips = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long met = 0, rounds;
	long long evicted;
	pid_t child;

	ASSERT_NE(MAP_FAILED, flips);
	evicted = unmap_stat("evict_entries");
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		flip(flips);
	for (rounds = 0; rounds < ROUNDS || (met < MET && rounds < MOST); rounds++) {
		char *mem = lazyfree();
		long before = READ_ONCE(*flips);

		ASSERT_NE(NULL, mem);
		EXPECT_EQ(0, lost_in_reclaim(mem));
		met += READ_ONCE(*flips) != before;
		munmap(mem, LEN);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	TH_LOG("%ld rounds, %ld while the switch was flipped, %ld flips, %lld entries", rounds,
	       met, *flips, unmap_stat("evict_entries") - evicted);
	EXPECT_LE(MET, met);
	EXPECT_LT(evicted, unmap_stat("evict_entries"));
	munmap(flips, PAGE);
}

TEST_LONG(control, stat_lines)
{
	static const char * const names[] = {
		"evict_runs", "evict_entries", "put_back_runs", "put_back_entries", "flushes",
		"flushes_deferred"
	};
	FILE *file = fopen(STAT, "r");
	char name[64], line[128];
	unsigned long long value;

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file))
		EXPECT_EQ(2, sscanf(line, "%63[a-z0-9_] %llu\n", name, &value));
	fclose(file);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		EXPECT_LE(0, unmap_stat(names[i]));
	EXPECT_LE(0, unmap_stat("run_order_0"));
	EXPECT_LE(0, unmap_stat("run_order_9"));
}

static int mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : (int)(st.st_mode & 0777);
}

TEST_LONG(control, permissions)
{
	EXPECT_EQ(0644, mode_of(ENABLED));
	EXPECT_EQ(0644, mode_of(MAX_RUN));
	EXPECT_EQ(0400, mode_of(STAT));
	EXPECT_NE(0, write_error(STAT, "1"));
}

TEST_HARNESS_MAIN
