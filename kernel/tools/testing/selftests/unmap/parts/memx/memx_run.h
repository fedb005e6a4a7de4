/* SPDX-License-Identifier: GPL-2.0-only */
/* What memx.c, memx_run.c and memx_shrink.c share. */
#ifndef MEMX_RUN_H
#define MEMX_RUN_H

#include <sys/types.h>
#include <time.h>

#include "memx.h"

#define MAX_PROCS	16
#define NR_KINDS	64

/* A worker's report to the process that started it. */
struct verdict {
	bool failed;
	__u64 op, done;
	__u64 kinds[NR_KINDS], spent[NR_KINDS];	/* operations and ns, by kind */
	char text[1024];
};

struct options {
	__u64 seed, from, to, spoil;
	int procs, only_proc, threads;
	__u32 rare;		/* choose costly operations this many times less often */
	double minutes;
	bool trace, drop;
};

extern struct options options;
extern struct verdict *verdicts;		/* of each process, shared with all */
extern const unsigned char *left_out;		/* by operation number, while shrinking */

/* Start a process that runs operations [from, to), until @end (0: no limit). */
pid_t start_worker(int proc, __u64 from, __u64 to, time_t end);
/* Once, before the first worker starts. */
void collect_kinds(void);
void tell_kinds(void);

/* Should the threads of this process end? */
bool memx_stops(void);

/* memx_drop.c: settings; in each process: tables, and a thread that reclaims. */
void drop_begin(void);
void drop_end(void);
void have_many_tables(void);
void *keep_pressing(void *seed);

/* A process failed before operation @to: find out which operations make it fail. */
void shrink(int proc, __u64 from, __u64 to);

#endif /* MEMX_RUN_H */
