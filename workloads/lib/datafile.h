/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files on XFS that workloads map.
 *
 * Every page begins and ends with a stamp of its own, so that check_contents() finds pages
 * that lost their content and pages that took another one's place.
 */
#ifndef DATAFILE_H
#define DATAFILE_H

#include <stddef.h>

#include "workload.h"

/* Skip unless /mnt is an XFS with @len bytes free. */
void need_space(size_t len);
/* Create a clean file of @len bytes at @path, with nothing of it in the page cache. */
int make_file(const char *path, size_t len);
/* Write @len bytes of stamped pages, and wait until they are on the disk. */
void fill_file(int fd, size_t len);
/* Read the file sequentially: read-ahead then makes large folios. */
void read_file(int fd, size_t len);
/*
 * Map the file read-only, at an address 1 MiB off 2 MiB alignment, so that every kernel maps
 * it by PTEs.  @flags: MAP_SHARED or MAP_PRIVATE.
 */
char *map_file(int fd, size_t len, int flags);
/* Stamp every page; @first is the file's page number of the first one. */
void stamp_pages(char *mem, size_t len, u64 first);
/* Fail unless every page holds its stamps; @first is the number of the first one. */
void check_stamps(const char *mem, size_t len, u64 first);
/* The same of a range that begins with page 0. */
void check_contents(const char *mem, size_t len);
/* Pages of the range that are in the page cache. */
unsigned long count_cached(char *mem, size_t len);

#endif /* DATAFILE_H */
