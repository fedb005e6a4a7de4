// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file on a disk that is nearly full is written through tables that are dropped all the time:
 * see drop.h.
 *
 * The file shares its blocks with a twin (reflink), so that the first store to a page needs
 * another block (page_mkwrite).  There are blocks for half of the pages.  A store that finds none
 * raises SIGBUS, and must leave the page as it was.  Each other store must be on the disk after
 * fsync(), which another thread calls all the time, too.  Nothing may reach the twin.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "drop.h"

#define MAPPINGS	4L
#define LARGEST		(8 * 1024 * MIB)	/* a disk that the test may fill, */
#define LEFT		(LEN / 2)		/* and what it leaves of it */
#define STEP		4L			/* pages: only so many are written */
#define BURSTS		16			/* in a round, of: */
#define STORES		30			/* to each of a few pages, in one mapping */
#define FEW		8
#define ROUNDS		3			/* at least */

struct disk {
	int hog, twin, fd, direct;
	char *mem;
	char *content;			/* room for the file */
	unsigned int random;
	unsigned char pages[PAGES];	/* the first byte of each page */
	long stored, refused;
	bool stop, failed;
	pthread_t syncer;
};

/* SIGBUS comes on the stack of the store. */
static sigjmp_buf refused;

static void refuse(int sig)
{
	siglongjmp(refused, 1);
}

static long long room(const char *what)
{
	struct statfs fs;

	if (statfs("/mnt", &fs))
		return -1;
	return fs.f_bsize * (long long)(strcmp(what, "size") ? fs.f_bavail : fs.f_blocks);
}

static bool fill_disk(struct disk *d)
{
	off_t at = 0;

	CHECK(!ftruncate(d->hog, 0));
	for (off_t piece = 1024 * MIB; piece >= (off_t)(16 * KIB); piece /= 2)
		while (room("left") >= (off_t)LEFT + piece &&
		       !fallocate(d->hog, 0, at, piece))
			at += piece;
	CHECK(room("left") < (off_t)(LEFT + MIB));
	return true;
}

/* The file becomes like the twin. */
static bool make_alike(struct disk *d)
{
	CHECK(!ioctl(d->fd, FICLONE, d->twin));
	for (long i = 0; i < PAGES; i++)
		d->pages[i] = fill_byte(i, SEED);
	return fill_disk(d);
}

/* No system call: it might flush the TLB.  Returns false for SIGBUS. */
static bool store(char *page, unsigned char byte)
{
	if (sigsetjmp(refused, 0))
		return false;
	WRITE_ONCE(*page, byte);
	return true;
}

/* Whether all stores found their blocks. */
static bool store_once(struct disk *d, char *map, const long *few)
{
	for (int i = 0; i < FEW; i++) {
		unsigned char byte = rand_r(&d->random);

		if (!store(map + few[i] * PAGE, byte)) {
			d->refused++;
			return false;
		}
		d->pages[few[i]] = byte;
		d->stored++;
	}
	return true;
}

static void store_somewhere(struct disk *d)
{
	char *map = d->mem + rand_r(&d->random) % MAPPINGS * LEN;
	long few[FEW];

	for (int i = 0; i < FEW; i++)
		few[i] = rand_r(&d->random) % (PAGES / STEP) * STEP;
	for (int i = 0; i < STORES; i++)
		if (!store_once(d, map, few))
			break;
}

/* What is on the disk; the page cache is not asked. */
static bool is_on_disk(struct disk *d)
{
	const char *content = d->content;

	CHECK(!fsync(d->fd));
	CHECK(pread(d->direct, d->content, LEN, 0) == (ssize_t)LEN);
	for (long i = 0; i < PAGES; i++) {
		unsigned char byte = content[i * PAGE];

		CHECK_EQ(d->pages[i], byte);
		CHECK_EQ(d->pages[i], (unsigned char)d->mem[i % MAPPINGS * LEN + i * PAGE]);
		CHECK(i % STEP == 0 || page_is(content + i * PAGE, fill_byte(i, SEED)));
	}
	return true;
}

static bool twin_is_as_before(const struct disk *d)
{
	CHECK(!posix_fadvise(d->twin, 0, 0, POSIX_FADV_DONTNEED));
	CHECK(pread(d->twin, d->content, LEN, 0) == (ssize_t)LEN);
	CHECK_EQ(0, count_wrong(d->content, LEN, SEED));
	return true;
}

static bool one_round(struct disk *d)
{
	CHECK(make_alike(d));
	for (int i = 0; i < BURSTS; i++)
		store_somewhere(d);
	return is_on_disk(d) && twin_is_as_before(d);
}

static void *keep_syncing(void *arg)
{
	struct disk *d = arg;

	use_cpu(1 % sysconf(_SC_NPROCESSORS_ONLN));
	while (!READ_ONCE(d->stop) && !d->failed) {
		d->failed = fsync(d->fd);
		usleep(1000);
	}
	return NULL;
}

static int new_file(void)
{
	return open("/mnt", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static bool open_all(struct disk *d, const struct scene *scene)
{
	char path[32];

	d->twin = xfs_file(LEN, SEED, scene->kib);
	d->fd = new_file();
	d->hog = new_file();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", d->fd);
	d->direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	CHECK(d->twin >= 0 && d->fd >= 0 && d->hog >= 0 && d->direct >= 0);
	CHECK(!ftruncate(d->fd, LEN));
	d->mem = map_file(d->fd, MAPPINGS, MAP_SHARED);
	d->content = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	return d->mem != MAP_FAILED && d->content != MAP_FAILED && pad_tables(COPIES);
}

const char *disk_needs(void)
{
	int from = xfs_file(PAGE, SEED, 4), to = new_file();
	bool shares = from >= 0 && to >= 0 && !ioctl(to, FICLONE, from);

	close(from);
	close(to);
	if (!shares)
		return "needs XFS with reflinks at /mnt";
	return room("size") > (long long)LARGEST ? "would fill a large disk" : NULL;
}

static bool play(struct disk *d)
{
	bool right = true;

	CHECK(dropping_start());
	CHECK(!pthread_create(&d->syncer, NULL, keep_syncing, d));
	for (int i = 0; right && (i < ROUNDS || race_goes_on(RACE_TABLES)); i++)
		right = one_round(d);
	WRITE_ONCE(d->stop, true);
	pthread_join(d->syncer, NULL);
	dropping_stop();
	return right && !d->failed;
}

bool race_full_disk(struct scene *scene)
{
	struct sigaction action = { .sa_handler = refuse, .sa_flags = SA_NODEFER };
	static struct disk d = { .random = 1 };

	CHECK(open_all(&d, scene));
	CHECK(!sigaction(SIGBUS, &action, NULL));
	CHECK(play(&d));
	printf("# %ld stores, %ld refused\n", d.stored, d.refused);
	return d.stored && d.refused;
}
