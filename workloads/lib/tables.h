/* SPDX-License-Identifier: GPL-2.0-only */
/* Page tables of a workload: how many there are, and what happens to empty ones. */
#ifndef TABLES_H
#define TABLES_H

#include "workload.h"

/* Reclaim spares tables that became empty less than 20 ms ago: wait this long, in us. */
#define TABLES_AGE	(100 * 1000)

/* So long, in us, a table that is not used any more may stay. */
#define TABLES_GO	(2000 * 1000)

/* VmPTE of this process, in kB. */
u64 vmpte(void);
/* Select the tables_policy.  Does nothing in kernels without one, where no choice exists. */
void set_tables_policy(const char *policy);
/* MADV_DONTNEED the range, 2 MiB at a time, each call shifted by 1 MiB against the tables. */
void discard_unaligned(char *mem, size_t len);
/* A memfd of @len bytes, mapped shared at @mem in place of what is mapped there. */
int map_shared(char *mem, size_t len);
/* Punch a hole of @len bytes at @at. */
void punch(int fd, size_t at, size_t len);

#endif /* TABLES_H */
