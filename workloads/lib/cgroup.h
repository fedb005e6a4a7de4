/* SPDX-License-Identifier: GPL-2.0-only */
/* A memory cgroup of the workload's own, which can be told to reclaim. */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdbool.h>

#include "workload.h"

#define CGROUP	"/sys/fs/cgroup/workload"
#define RECLAIM_PATH	CGROUP "/memory.reclaim"

/* Bytes charged: all memory, the page cache, and its mapped part. */
struct usage {
	u64 current;
	u64 file;
	u64 mapped;
};

void enter_cgroup(void);
void leave_cgroup(void);
struct usage read_usage(void);
/* Write @amount to memory.reclaim; false if the kernel found less to reclaim. */
bool try_reclaim(const char *amount);
/* Fail unless the figure @what fell by @asked, within 5 %. */
void check_drop(const char *what, u64 before, u64 after, u64 asked);

#endif /* CGROUP_H */
