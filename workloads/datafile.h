/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files on XFS that workloads map.
 *
 * Every page begins and ends with a stamp of its own, so that a page that comes
 * back wrong, or in another's place, is found.
 */
#ifndef DATAFILE_H
#define DATAFILE_H

#include <stddef.h>

/* A clean file of @len bytes, replacing what was at @path; nothing of it is cached. */
int make_file(const char *path, size_t len);
/* Bring the file in with sequential reads: that is what makes large folios. */
void read_file(int fd, size_t len);
/*
 * Map it to be read, shifted by 1 MiB against 2 MiB, so that every kernel uses
 * PTEs; @flags says whether shared or private.
 */
char *map_file(int fd, size_t len, int flags);
/* Fail unless every page of the mapped file holds its stamps. */
void check_contents(const char *mem, size_t len);
/* Pages of the range that are in the page cache. */
unsigned long count_cached(char *mem, size_t len);

#endif /* DATAFILE_H */
