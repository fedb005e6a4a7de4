/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of kept: helpers, threads that hold the mmap lock, a race, and latencies. */
#ifndef KEPT_H
#define KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "fault_util.h"
#include "unmap_util.h"

#define GROUPS		"/sys/fs/cgroup/kept"
#define NR_TABLES	64L
#define LEN		(NR_TABLES * PMD)
#define SLACK		2	/* tables that the process allocates meanwhile */
#define SOON		20	/* tenths of a second, on a busy machine */

/* kept_util.c: tables. */
long long tables_of(pid_t pid);
/* Wait for a process's tables to fall to @tables; false if they do not. */
bool fall_to(pid_t pid, long long tables);
char *map_tables(size_t len, int flags, int fd);
/* Write to one page of each table. */
void fill_tables(char *mem, size_t len);
/* Fill the tables and empty them again: the policy "pressure" keeps them. */
void empty_tables(char *mem, size_t len);
double now(void);		/* seconds */

/* kept_util.c: control groups below GROUPS, for reclaim.  "" is GROUPS itself. */
bool group_write(const char *group, const char *file, const char *text);
bool group_make(const char *group);
bool group_remove(const char *group);
bool group_enter(const char *group, pid_t pid);
/* Make GROUPS, with these controllers for the groups below it. */
bool groups_make(const char *controllers);

/*
 * kept_util.c: a child that runs a job in steps.  The job calls child_done() after each
 * step, which waits for child_go_on(); or child_says_done(), which does not wait.
 */
struct child {
	pid_t pid;
	int to, from;		/* pipes; in the child, its own ends */
};

bool child_start(struct child *child, void (*job)(struct child *child, void *arg), void *arg);
void child_says_done(struct child *child);
void child_done(struct child *child);
bool child_wait(struct child *child);
bool child_go_on(struct child *child);
void child_end(struct child *child);

/* kept_busy.c: a process with NR_TABLES tables whose threads hold its mmap lock. */
struct crowd {
	int fd;			/* the mapped file; -1: anonymous memory */
	int uffd;
	char *mem, *to;
	long long empty;	/* tables without those of @mem */
};

bool crowd_make(struct crowd *crowd);
/* Start and stop the threads. */
bool busy_go(void);
void busy_end(void);
/* A child's job; other processes empty the tables between its two steps. */
void crowd_job(struct child *child, void *arg);

/* kept_alone.c: a job for apart(); tables must be given back if the switch is on. */
struct alone {
	struct scene scene;
	bool on;
};

bool alone_job(struct scene *scene);

/* kept_latency.c: how long mmap() and munmap() of a victim take while it is reclaimed. */
#define DECADES		7	/* below 10 us, 100 us, ... */
#define STALL		0.05	/* seconds */

struct latency {
	long nr[DECADES];
	double longest;		/* seconds */
	double stalled;		/* seconds in calls that took STALL or longer */
	bool stop;
};

/* @latency must be shared memory. */
bool measure(struct latency *latency, double seconds);

#endif /* KEPT_H */
