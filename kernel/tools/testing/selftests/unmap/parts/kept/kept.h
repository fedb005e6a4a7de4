/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of kept: helpers, threads that hold the mmap lock, a race, and latencies. */
#ifndef KEPT_H
#define KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../lib/fault_util.h"
#include "../../lib/unmap_util.h"

#define NR_TABLES	64L
#define LEN		(NR_TABLES * PMD)
#define SLACK		2	/* tables that the process allocates meanwhile */

/* kept_util.c: tables. */
long long tables_of(pid_t pid);
/* Wait for a process's tables to fall to @tables. */
bool fall_to(pid_t pid, long long tables);
char *map_tables(size_t len, int flags, int fd);
/* Write to one page of each table. */
void fill_tables(char *mem, size_t len);
/* Fill the tables and empty them again: the policy "pressure" keeps them. */
void empty_tables(char *mem, size_t len);

/* kept_busy.c: a process with NR_TABLES tables whose threads hold its mmap lock. */
struct crowd {
	int fd;			/* the mapped file; -1: anonymous memory */
	int uffd;
	char *mem, *to;
	long long empty;	/* tables without those of @mem */
};

bool crowd_make(struct crowd *crowd);
/* Start the threads, and wait until they hold the lock by turns; stop them. */
bool crowd_go(struct crowd *crowd);
void busy_end(void);
/* Wait until each of them has had the lock so often again. */
bool busy_goes_on(long rounds);
/* A child's job; other processes empty the tables between its two steps. */
void crowd_job(struct child *child, void *arg);

/* kept_alone.c: a job for apart(); tables must be given back if the switch is on. */
struct alone {
	struct scene scene;
	bool on;
};

bool alone_job(struct scene *scene);

/* kept_latency.c: the victim of a throttled task; a job for latency_round(). */
void victim_job(struct child *child, void *latency);

#endif /* KEPT_H */
