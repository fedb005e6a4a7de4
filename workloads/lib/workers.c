// SPDX-License-Identifier: GPL-2.0-only
/* Threads that work together: see workers.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>

#include "workers.h"
#include "workload.h"

static pthread_barrier_t barrier;
static atomic_bool stop;

void await_release(void)
{
	pthread_barrier_wait(&barrier);	/* start_workers() returns when all have come here */
	pthread_barrier_wait(&barrier);	/* release_workers() */
}

void work_done(void)
{
	pthread_barrier_wait(&barrier);
}

/* Write before reading: reading first would take a second fault. */
static void touch(char *byte, unsigned char id)
{
	unsigned char found;

	*byte = id;
	found = READ_ONCE(*byte);
	if (found && found != id)
		fail("thread %u wrote %u and read %u", id, id, found);
}

void *touch_range(void *arg)
{
	struct worker *worker = arg;

	await_release();
	for (size_t i = 0; i < worker->len; i += PAGE)
		touch(worker->mem + i, worker->id);
	work_done();
	return NULL;
}

bool workers_stopped(void)
{
	return atomic_load_explicit(&stop, memory_order_relaxed);
}

void *touch_page(void *arg)
{
	struct worker *worker = arg;

	await_release();
	while (!workers_stopped()) {
		touch(worker->mem, worker->id);
		sched_yield();
	}
	work_done();
	return NULL;
}

void start_workers(struct worker *workers, unsigned int nr, void *(*fn)(void *))
{
	atomic_store(&stop, false);
	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (unsigned int i = 0; i < nr; i++) {
		workers[i].id = i + 1;
		if (pthread_create(&workers[i].thread, NULL, fn, &workers[i]))
			fail("cannot make a thread");
	}
	pthread_barrier_wait(&barrier);
}

void release_workers(void)
{
	pthread_barrier_wait(&barrier);
}

void await_workers(void)
{
	atomic_store(&stop, true);
	pthread_barrier_wait(&barrier);
}

void join_workers(struct worker *workers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
}
