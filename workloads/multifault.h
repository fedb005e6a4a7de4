/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of multifault: threads that fault pages in, and faults in many tables. */
#ifndef MULTIFAULT_H
#define MULTIFAULT_H

#include <pthread.h>
#include <stddef.h>

struct worker {
	pthread_t thread;
	unsigned char id;
	char *mem;
	size_t len;
};

/* Thread functions: write to every page of the range; write to one page until stopped. */
void *touch_range(void *arg);
void *touch_page(void *arg);

/* Create the threads; they wait for release_workers(). */
void start_workers(struct worker *workers, unsigned int nr, void *(*fn)(void *));
void release_workers(void);
/* Stop touch_page(), and wait until all threads have finished their work. */
void await_workers(void);
void join_workers(struct worker *workers, unsigned int nr);

/* The cases "sparse" and "sparse-kept": multifault_sparse.c. */
void run_sparse(void);
void run_sparse_kept(void);

#endif /* MULTIFAULT_H */
