/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of multifault: threads that fault pages in, and faults far from each other. */
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

/* What a worker does: write to every page of its range, or to one page until stopped. */
void *touch_range(void *arg);
void *touch_page(void *arg);

/* Make the threads; they wait until they are let go. */
void start_workers(struct worker *workers, unsigned int nr, void *(*fn)(void *));
void release_workers(void);
/* Stop those that do not stop by themselves, and wait until all have done their work. */
void await_workers(void);
void join_workers(struct worker *workers, unsigned int nr);

/* The cases of those names, in multifault_sparse.c. */
void run_sparse(void);
void run_sparse_kept(void);

#endif /* MULTIFAULT_H */
