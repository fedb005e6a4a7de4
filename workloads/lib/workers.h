/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that prepare, wait for each other, and do the measured work together. */
#ifndef WORKERS_H
#define WORKERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct worker {
	pthread_t thread;
	unsigned char id;	/* 1, 2, … */
	char *mem;
	size_t len;
};

/* Thread functions: write to every page of the range; write to one page until stopped. */
void *touch_range(void *arg);
void *touch_page(void *arg);
/* Whether await_workers() was called: for thread functions that work until then. */
bool workers_stopped(void);
/* A thread function must call both, once: before and after the measured work. */
void await_release(void);
void work_done(void);

/* Create the threads, and wait until all have prepared.  They wait for release_workers(). */
void start_workers(struct worker *workers, unsigned int nr, void *(*fn)(void *));
void release_workers(void);
/* Stop what works until stopped, and wait until all threads have finished their work. */
void await_workers(void);
void join_workers(struct worker *workers, unsigned int nr);

#endif /* WORKERS_H */
