// SPDX-License-Identifier: GPL-2.0-only
/*
 * powercut - the power fails while reclaim unmaps dirty file pages: check what is on disk.
 *
 *	powercut write SEED	stamp pages of a mapped file, sync some and report them, for ever
 *	powercut spoil SEED	the same without syncing: the check must fail
 *	powercut check LIST	check that every reported page is on disk
 *
 * A page belongs to a stretch, whose pages are stamped together. Every word of a page holds
 * the page's number and the generation of the stamp. One line reports the stretch, after
 * msync() or fsync() has returned:
 *
 *	s FIRST COUNT GENERATION
 *
 * and one line reports a whole file, after it was synced and renamed into place:
 *
 *	f NUMBER PAGES
 *
 * A second process clears the accessed bits, reclaims the file and writes it out, over and
 * over. XFS marks a folio as dirty at the first write fault, so only a write without a
 * fault can be lost: one through a translation that should have been flushed. Some
 * stretches are therefore stamped twice, with time for reclaim and writeback in between.
 * Lines "e COUNT" report how many entries were evicted in runs so far.
 *
 * On disk, each word of a page must be of the generation last reported for it or a later one:
 * a page may be written again while it is being written out.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "unmap_util.h"

#define STAMPS	"/mnt/stamps"
#define PAGES	4096L
#define WORDS	(PAGE / sizeof(__u64))
#define LONGEST	96
#define GENERATIONS	0xffffffffULL
#define LINGER	100000000L	/* ns */

static bool spoil;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	printf("! %s: %s\n", what, strerror(errno));
	exit(1);
}

static __u64 *map_stamps(void)
{
	int fd = open(STAMPS, O_RDWR | O_CREAT, 0644);
	__u64 *mem;

	need(fd >= 0 && !ftruncate(fd, PAGES * PAGE), STAMPS);
	mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(mem != MAP_FAILED, "mapping " STAMPS);
	close(fd);
	return mem;
}

/* The second process. */
static void reclaim_for_ever(pid_t whose)
{
	int fd = open(STAMPS, O_RDWR);
	char path[64];

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	snprintf(path, sizeof(path), "/proc/%d/clear_refs", whose);
	for (;;) {
		write_text(path, "1");
		reclaim_file(PAGES * PAGE);
		sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				SYNC_FILE_RANGE_WAIT_AFTER);
	}
}

static void stamp(__u64 *mem, long first, long count, __u64 generation)
{
	for (long page = first; page < first + count; page++)
		for (size_t i = 0; i < WORDS; i++)
			mem[page * WORDS + i] = (__u64)page << 32 | generation;
}

/*
 * Give reclaim and writeback time, without a system call that might sleep: this CPU's TLB
 * then keeps a translation that should have been flushed.
 */
static void linger(void)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < LINGER);
}

static void write_stretch(__u64 *mem, __u64 generation)
{
	long first = random() % PAGES, count = random() % LONGEST + 1;

	if (first + count > PAGES)
		count = PAGES - first;
	if (random() % 3 == 0) {
		stamp(mem, first, count, generation - 1);
		linger();
	}
	stamp(mem, first, count, generation);
	if (random() % 3)
		return;
	need(spoil || !msync(mem + first * WORDS, count * PAGE, MS_SYNC), "msync");
	printf("s %ld %ld %llu\n", first, count, (unsigned long long)generation);
}

static void file_path(char path[64], const char *prefix, long number)
{
	snprintf(path, 64, "/mnt/%s%ld", prefix, number);
}

/* Write the file through a mapping, sync it, and rename it into place. */
static void write_whole_file(long number)
{
	long count = random() % LONGEST + 1;
	char path[64], final[64];
	__u64 *mem;
	int fd, dir;

	file_path(path, "new", number);
	file_path(final, "file", number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	need(fd >= 0 && !ftruncate(fd, count * PAGE), path);
	mem = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(mem != MAP_FAILED, "mapping a file");
	stamp(mem, 0, count, number);
	madvise(mem, count * PAGE, MADV_PAGEOUT);
	need((spoil || !fsync(fd)) && !rename(path, final), final);
	dir = open("/mnt", O_RDONLY);
	need(!fsync(dir), "fsync of /mnt");
	printf("f %ld %ld\n", number, count);
	munmap(mem, count * PAGE);
	close(dir);
	close(fd);
}

static void write_for_ever(unsigned int seed)
{
	__u64 *mem = map_stamps();
	pid_t pid = getpid();

	srandom(seed);
	need(cgroup_enter(), "a memory control group");
	if (!fork())
		reclaim_for_ever(pid);
	use_cpu(0);
	for (__u64 generation = 2;; generation++) {
		write_stretch(mem, generation);
		if (generation % 8 == 0)
			printf("e %lld\n", unmap_stat("evict_entries"));
		if (generation % 32 == 0)
			write_whole_file(generation / 32);
	}
}

static long wrong;

static void check_page(const __u64 *words, long page, __u64 at_least)
{
	for (size_t i = 0; i < WORDS; i++) {
		__u64 generation = words[i] & GENERATIONS;

		if (!at_least && !words[i])
			continue;
		if (words[i] >> 32 == (__u64)page && generation >= at_least)
			continue;
		printf("wrong: page %ld word %zu is page %llu generation %llu instead of %llu\n",
		       page, i, (unsigned long long)(words[i] >> 32),
		       (unsigned long long)generation, (unsigned long long)at_least);
		wrong++;
		return;
	}
}

static void check_file(long number, long count)
{
	char path[64];
	__u64 *mem;
	int fd;

	file_path(path, "file", number);
	fd = open(path, O_RDONLY);
	mem = fd < 0 ? MAP_FAILED : mmap(NULL, count * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED || lseek(fd, 0, SEEK_END) != (off_t)(count * PAGE)) {
		printf("wrong: %s is missing or has another size\n", path);
		wrong++;
	} else {
		for (long page = 0; page < count; page++)
			check_page(mem + page * WORDS, page, number);
		munmap(mem, count * PAGE);
	}
	close(fd);
}

/* The list has the reported lines, in their order. */
static void read_list(const char *path, __u64 *synced)
{
	FILE *list = fopen(path, "r");
	unsigned long long generation;
	char line[128];
	long a, b;

	need(list, path);
	while (fgets(line, sizeof(line), list)) {
		if (sscanf(line, "s %ld %ld %llu", &a, &b, &generation) == 3)
			for (long page = a; page < a + b; page++)
				synced[page] = generation;
		else if (sscanf(line, "f %ld %ld", &a, &b) == 2)
			check_file(a, b);
	}
	fclose(list);
}

static int check(const char *path)
{
	static __u64 synced[PAGES];
	__u64 *mem = map_stamps();
	long told = 0;

	read_list(path, synced);
	for (long page = 0; page < PAGES; page++) {
		check_page(mem + page * WORDS, page, synced[page]);
		told += !!synced[page];
	}
	printf("checked %ld pages, %ld of them synced, %ld wrong\n", PAGES, told, wrong);
	return !!wrong;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	spoil = argc == 3 && !strcmp(argv[1], "spoil");
	if (spoil || (argc == 3 && !strcmp(argv[1], "write")))
		write_for_ever(strtoul(argv[2], NULL, 0));
	if (argc == 3 && !strcmp(argv[1], "check"))
		return check(argv[2]);
	fprintf(stderr, "powercut write SEED | spoil SEED | check LIST\n");
	return 2;
}
