// SPDX-License-Identifier: GPL-2.0-only
/* A thread that drops tables all the time: see drop.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drop.h"

#define LIMIT		120	/* seconds, until so many tables went */
#define WIDE		200	/* microseconds: a table is locked for longer */
#define ENOUGH		4	/* rounds, until each table of a process was looked at */

/* Children see the rounds, too. */
static struct dropping {
	bool stop;
	long rounds;
} *dropping;

static pthread_t thread;
static double began;
static long long dropped;

static void *keep_dropping(void *arg)
{
	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	while (!READ_ONCE(dropping->stop)) {
		drop_slabs();
		__atomic_add_fetch(&dropping->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

bool dropping_start(void)
{
	dropping = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(dropping != MAP_FAILED);
	/* No line in the kernel log each time: a console is slow. */
	CHECK(write_text("/proc/sys/vm/drop_caches", "4"));
	table_window(WIDE);
	race_begins();
	return !pthread_create(&thread, NULL, keep_dropping, NULL);
}

void dropping_wait(void)
{
	long end = __atomic_load_n(&dropping->rounds, __ATOMIC_ACQUIRE) + ENOUGH;

	while (__atomic_load_n(&dropping->rounds, __ATOMIC_ACQUIRE) < end)
		usleep(1000);
}

void race_begins(void)
{
	dropped = unmap_stat(DROPPED);
	began = now();
}

/* No table can go while the switch is off. */
static bool have_gone(long tables)
{
	return !switch_has(UNMAP_DROP) || unmap_stat(DROPPED) - dropped >= tables;
}

bool race_goes_on(long tables)
{
	double spent = now() - began;

	if (spent < from_env("DROP_MS", 0) / 1e3)
		return true;
	return !have_gone(tables) && spent < LIMIT;
}

void dropping_stop(void)
{
	WRITE_ONCE(dropping->stop, true);
	pthread_join(thread, NULL);
	table_window(0);
}

int drop_file(const struct scene *scene)
{
	int fd = scene->kind == SHMEM ? memfd_create("drop", MFD_CLOEXEC) :
					xfs_file(LEN, SEED, scene->kib);

	/* All zero. */
	return fd >= 0 && !ftruncate(fd, 0) && !ftruncate(fd, LEN) ? fd : -1;
}

char *map_file(int fd, long copies, int flags)
{
	char *mem = map_aligned(copies * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (long i = 0; mem != MAP_FAILED && i < copies; i++)
		if (mmap(mem + i * LEN, LEN, PROT_READ | PROT_WRITE, MAP_FIXED | flags, fd, 0) ==
		    MAP_FAILED)
			return MAP_FAILED;
	return mem;
}
