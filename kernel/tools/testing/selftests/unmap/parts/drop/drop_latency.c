// SPDX-License-Identifier: GPL-2.0-only
/* A process whose tables a throttled task drops: see drop.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drop.h"

#define VICTIM_TABLES	256L

/* Few pages of each table, so that all are filled again soon. */
static void fill_again(const char *mem, long tables)
{
	for (long i = 0; i < tables; i++)
		READ_ONCE(mem[i * LEN]);
}

void drop_victim_job(struct child *child, void *arg)
{
	struct scene scene = { .kind = SHMEM };
	struct latency *latency = arg;
	int fd = drop_file(&scene);
	pthread_t thread;
	char *mem;

	/* The pages belong to the group that is reclaimed. */
	if (!latency_start(&thread, latency) || posix_fallocate(fd, 0, LEN))
		_exit(1);
	mem = map_file(fd, VICTIM_TABLES, MAP_SHARED);
	if (mem == MAP_FAILED)
		_exit(1);
	fill_again(mem, VICTIM_TABLES);
	child_says_done(child);
	while (!READ_ONCE(latency->stop)) {
		fill_again(mem, VICTIM_TABLES);
		usleep(10000);
	}
	pthread_join(thread, NULL);
	child_says_done(child);
}
