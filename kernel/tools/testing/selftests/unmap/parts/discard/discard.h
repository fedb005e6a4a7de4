/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of discard. */
#ifndef DISCARD_H
#define DISCARD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "../../lib/fault_util.h"
#include "../../lib/unmap_util.h"

#define LEN		RANGE
#define PAGES		((long)(LEN / PAGE))
#define SEED		41
#define OTHER		42

/* MADV_DONTNEED of pages [from, to). */
static inline bool discard_pages(char *mem, long from, long to)
{
	return !madvise(mem + from * PAGE, (to - from) * PAGE, MADV_DONTNEED);
}

/*
 * discard_leave.c: jobs that write to a shared mapping of scene->fd and then discard it,
 * unmap it, or exit.
 */
#define NR_LEAVES	3
extern bool (* const leave[NR_LEAVES])(struct scene *scene);

/* Pages of the mapping that are in memory, mapped or not; -1: mincore() failed. */
long pages_cached(char *mem);
void file_name(char path[32], size_t number);
/* The device mounted at @dir. */
bool device_of(const char *dir, char device[64]);
/* Pages of the file that do not hold what the jobs wrote. */
long wrong_in_file(const char *path);

/* discard_mixed.c: a job that discards pieces of tables with entries of every kind. */
bool mixed_table(struct scene *scene);

/* discard_race.c: discard while a thread on another CPU stores stamps, or reads them. */
bool second_cpu(void);
bool discard_while_storing(char *mem);
bool discard_while_reading(char *mem);

#endif /* DISCARD_H */
