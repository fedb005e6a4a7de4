/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files on XFS that workloads map, and pages that can be told from each other.
 *
 * Every page begins and ends with a stamp of its own, so that a page that comes
 * back wrong, or in another's place, is found.
 */
#ifndef DATAFILE_H
#define DATAFILE_H

#include <stddef.h>

#include "workload.h"

/* Skip unless /mnt is an XFS with so much room. */
void need_space(size_t len);
/* A clean file of @len bytes, replacing what was at @path; nothing of it is cached. */
int make_file(const char *path, size_t len);
/* Bring the file in with sequential reads: that is what makes large folios. */
void read_file(int fd, size_t len);
/*
 * Map it to be read, shifted by 1 MiB against 2 MiB, so that every kernel uses
 * PTEs; @flags says whether shared or private.
 */
char *map_file(int fd, size_t len, int flags);
/* Give every page its stamps; the first one is the file's page @first. */
void stamp_pages(char *mem, size_t len, u64 first);
/* Fail unless every page holds its stamps, and the range begins with page 0. */
void check_contents(const char *mem, size_t len);
/* Pages of the range that are in the page cache. */
unsigned long count_cached(char *mem, size_t len);

#endif /* DATAFILE_H */
