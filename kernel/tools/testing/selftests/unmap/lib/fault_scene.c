// SPDX-License-Identifier: GPL-2.0-only
/* Memory with a content to check, and tests in processes of their own: see fault_util.h. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_util.h"
#include "unmap_util.h"

#define FIRST	1
#define SECOND	2

/* Content. */

void noise(char *page, size_t index, unsigned char seed)
{
	__u64 *words = (__u64 *)page, x = index * 0x9e3779b97f4a7c15ULL + seed + 1;

	for (size_t i = 0; i < PAGE / sizeof(x); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		words[i] = x;
	}
}

bool is_noise(const char *page, size_t index, unsigned char seed)
{
	__u64 want[PAGE / sizeof(__u64)];

	noise((char *)want, index, seed);
	return !memcmp(page, want, PAGE);
}

/* xfs_file() fills files with fill(); all other memory gets noise. */
static void put(const struct scene *scene, size_t page, unsigned char seed)
{
	if (scene->kind == FILE_SHARED)
		memset(scene->mem + page * PAGE, fill_byte(page, seed), PAGE);
	else
		noise(scene->mem + page * PAGE, page, seed);
}

static bool holds(const struct scene *scene, size_t page, unsigned char seed)
{
	const char *at = scene->mem + page * PAGE;

	if (scene->kind == FILE_SHARED)
		return page_is(at, fill_byte(page, seed));
	return is_noise(at, page, seed);
}

bool scene_was_rewritten(const struct scene *scene, size_t page)
{
	size_t folio = page / (scene->kib * KIB / PAGE);

	return folio % 2 && page % 5 == 0;
}

bool scene_page_ok(const struct scene *scene, size_t page)
{
	bool rewritten = scene_was_rewritten(scene, page);

	if (holds(scene, page, rewritten ? SECOND : FIRST))
		return true;
	return scene->kind == LAZYFREE && !rewritten && page_is(scene->mem + page * PAGE, 0);
}

long scene_wrong(const struct scene *scene)
{
	long wrong = 0;

	for (size_t i = 0; i < scene->len / PAGE; i++)
		wrong += !scene_page_ok(scene, i);
	return wrong;
}

static void rewrite(const struct scene *scene)
{
	for (size_t i = 0; i < scene->len / PAGE; i++)
		if (scene_was_rewritten(scene, i))
			put(scene, i, SECOND);
}

void scene_refill(struct scene *scene)
{
	for (size_t i = 0; i < scene->len / PAGE; i++)
		put(scene, i, scene_was_rewritten(scene, i) ? SECOND : FIRST);
}

/* Memory of a kind. */

const char *scene_needs(enum kind kind)
{
	int fd;

	if (kind == FILE_SHARED) {
		fd = xfs_file(PAGE, 0, 4);
		if (fd < 0)
			return "needs XFS at /mnt";
		close(fd);
		return NULL;
	}
	/* A test that was killed may have left swap off. */
	return kind == LAZYFREE || swap_is_on() || !swapon(FIRST_SWAP, 0) ? NULL : "needs swap";
}

static int open_scene(const struct scene *scene)
{
	int fd;

	if (scene->kind == FILE_SHARED)
		return xfs_file(scene->len, FIRST, scene->kib);
	if (scene->kind != SHMEM)
		return -1;
	fd = memfd_create("scene", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, scene->len) ? fd : -1;
}

bool scene_make(struct scene *scene)
{
	bool mapped = scene->kind == FILE_SHARED || scene->kind == SHMEM;
	int flags = mapped ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	scene->fd = open_scene(scene);
	CHECK(!mapped || scene->fd >= 0);
	scene->mem = map_aligned(scene->len, PROT_READ | PROT_WRITE, flags, scene->fd);
	CHECK(scene->mem != MAP_FAILED);
	if (scene->kind == FILE_SHARED)
		CHECK(!madvise(scene->mem, scene->len, MADV_POPULATE_READ));
	else
		for (size_t i = 0; i < scene->len / PAGE; i++)
			put(scene, i, FIRST);
	CHECK(folios_are(scene->mem, scene->len, scene->kib));
	if (scene->kind == LAZYFREE)
		CHECK(!madvise(scene->mem, scene->len, MADV_FREE));
	rewrite(scene);
	return true;
}

void scene_drop(struct scene *scene)
{
	munmap(scene->mem, scene->len);
	if (scene->fd >= 0)
		close(scene->fd);
}

#define WRITE_PASSES	20

static void reclaim_once(const struct scene *scene)
{
	if (scene->kind == ANON || scene->kind == SHMEM)
		reclaim_all(2 * scene->len);
	else
		reclaim_file(2 * scene->len);
}

/* The flusher may be writing the folios: reclaim skips them until it has finished. */
static bool is_written(const struct scene *scene)
{
	return scene->kind == FILE_SHARED && count_pages(scene->mem, scene->len, PM_PRESENT);
}

/* Clear the accessed bits first: reclaim would keep pages that were just used. */
void scene_reclaim(const struct scene *scene)
{
	write_text("/proc/self/clear_refs", "1");
	for (int pass = 0; pass < 2 || (pass < WRITE_PASSES && is_written(scene)); pass++) {
		if (pass >= 2)
			usleep(100000);
		reclaim_once(scene);
	}
}

/* Processes of their own. */

int start_apart(bool (*job)(struct scene *scene), struct scene *scene)
{
	bool done;
	int pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	done = job(scene);
	fflush(stdout);
	_exit(!done);
}

/* Every "BUG:" line counts: nonzero counters at exit, pages in a bad state. */
bool kernel_is_calm(int log)
{
	usleep(1000);
	return !kmsg_has_bug(log);
}

bool apart(bool (*job)(struct scene *scene), struct scene *scene)
{
	int log = kmsg_open(), status = -1;
	int pid = start_apart(job, scene);
	bool calm;

	CHECK(log >= 0);
	CHECK(pid > 0);
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	calm = kernel_is_calm(log);
	close(log);
	CHECK_EQ(0, status);
	CHECK(calm);
	return true;
}
