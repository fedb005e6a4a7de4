/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all workloads share.
 *
 * A workload is called as "NAME CASE [--full] [--mib N]".  It brings the machine to
 * a defined state, prepares, verifies what it prepared, measures one call,
 * verifies what the call did, and only then prints "= METRIC VALUE UNIT" lines.
 * Exit status: 0 all checks passed; 4 the machine lacks something that the case needs;
 * 1 a check failed or the arguments make no sense, with one sentence that says why.
 *
 * Under "-icount shift=0" the monotonic clock advances one nanosecond per
 * instruction, so the difference of two readings is an instruction count.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../include/base.h"

/* The command line: the case, and a size other than the usual one. */
struct request {
	const char *name;
	bool full;		/* --full: the size that the case's full run has */
	unsigned long mib;	/* 0: not given */
};

/* The pages that a range's present entries map, and how many of them are a folio's first. */
struct census {
	unsigned long pages;
	unsigned long folios;
};

__noreturn __printf(1, 2) void fail(const char *fmt, ...);
__noreturn __printf(1, 2) void skip(const char *fmt, ...);

/* Parse the command line.  --mib is accepted if @usage mentions it. */
struct request parse_request(int argc, char **argv, const char *usage);
/* The bytes to work on: --mib if it was given, @full under --full, or else @usual. */
size_t wanted_size(const struct request *req, size_t usual, size_t full);

/*
 * Bring the page allocator to the same state, whatever ran before.  Large folios are
 * switched off afterwards.
 */
void settle(void);

/*
 * The measured stretch lies between these two calls.  measure_end() takes what
 * measure_begin() returned, and returns the instructions in between.
 */
u64 measure_begin(void);
u64 measure_end(u64 start);
/* The clock that measure_begin() and measure_end() read, in ns. */
u64 clock_now(void);
/* CPU time of this process in ns, all threads added up, without the time that they wait. */
u64 cpu_time(void);
/* CPU time of the kernel's workers in ns, all added up; 0 without CONFIG_SCHED_DEBUG. */
u64 kworkers_time(void);
/* Page faults of this process so far, and in the last measured stretch. */
unsigned long count_faults(void);
unsigned long measured_faults(void);

/*
 * Print the two figures that all programs have, and each counter of
 * /sys/kernel/mm/unmap/stat that the last measured stretch changed.
 */
void report(u64 instructions, u64 pages);
/* Print another figure, as "= NAME VALUE UNIT". */
void metric(const char *name, u64 value, const char *unit);
/* The same for a quotient, such as events a page, with three decimals. */
void quotient_metric(const char *name, u64 value, u64 of, const char *unit);
/* Print a point of a curve, as "~ SERIES X Y". */
void point(const char *series, u64 x, u64 y);
/* Read the counters of mm/unmap at the start (@end is false) or the end of the stretch. */
void note_counters(bool end);

/*
 * A child prepares, calls child_prepared() to wait for its parent, and then does what is
 * measured.  The parent passes fork()'s result to the other three, in this order.  If the
 * child fails, so does the parent.
 */
void child_prepared(void);
void await_child(pid_t pid);
void release_child(pid_t pid);
void reap_child(pid_t pid);

bool path_exists(const char *path);
void write_text(const char *path, const char *text);
u64 read_number(const char *path);
/* The number after @key at the start of a line, 0 if there is no such line. */
u64 read_field(const char *path, const char *key);

/* Make the kernel allocate anonymous folios of @kib KiB only (4: no large folios). */
void thp_only(unsigned long kib);
u64 thp_stat(unsigned long kib, const char *name);

/*
 * The numbers from 0 to @nr - 1: in order, or in one that looks random and is the same in each
 * run.  The caller frees them.
 */
unsigned int *make_order(size_t nr, bool shuffled);

/* The folio size in KiB that a case's name, such as 64K, stands for. */
unsigned long parse_folio(const char *text);

/* An anonymous private range of @len bytes, aligned to 2 MiB. */
char *map_anon(size_t len);
/* Call madvise() or fail, naming the advice. */
#define advise(mem, len, advice)	__advise(mem, len, advice, #advice)
void __advise(void *mem, size_t len, int advice, const char *name);
/* Fail unless the range reads as zero, in eight places of each page. */
void check_zero(const char *mem, size_t len);
/* Skip unless @len bytes of memory are available. */
void need_memory(size_t len);
/* Make PTEs map the range's folios, 2 MiB folios too. */
void split_mapping(char *mem, size_t len);

/* Fail if a PMD maps memory of this process: kernels differ in when they map by PMD. */
void check_ptes(void);
struct census take_census(const void *start, size_t len);
/* Like take_census(); @heads gets, for each page, whether it is the first of a folio. */
struct census map_folios(const void *start, size_t len, bool *heads);
/* Fail unless the range is mapped by aligned folios of exactly @kib KiB. */
void check_folios(const void *start, size_t len, unsigned long kib);
/* Pages of the range whose entry is not empty: present, swapped or a marker. */
unsigned long count_entries(const void *start, size_t len);

#endif /* WORKLOAD_H */
