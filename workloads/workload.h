/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every measured program shares.
 *
 * A workload is called as "NAME CASE [--full] [--mib N]".  It brings the machine to
 * a defined state, prepares, verifies what it prepared, measures one call,
 * verifies what the call did, and only then prints "= METRIC VALUE UNIT" lines.
 * It ends with 0 when all of that held, 4 when the machine lacks something, 1 with
 * one sentence when a check failed or nobody could have meant what was asked.
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

typedef uint64_t u64;

#ifndef __noreturn
#define __noreturn	__attribute__((__noreturn__))
#endif
#ifndef __printf
#define __printf(a, b)	__attribute__((__format__(printf, a, b)))
#endif

#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))

#define BIT(nr)		(1UL << (nr))
#define BIT_ULL(nr)	(1ULL << (nr))

#define PAGE	4096UL
#define MIB	BIT(20)
#define GIB	BIT(30)

#define THP	"/sys/kernel/mm/transparent_hugepage/"

/* What was asked for: the case, and the thread's full size or one of the user's own. */
struct request {
	const char *name;
	bool full;
	unsigned long mib;	/* 0: not given */
};

/* What lies behind the present entries of a range: pages, and the folios they start. */
struct census {
	unsigned long pages;
	unsigned long folios;
};

__noreturn __printf(1, 2) void fail(const char *fmt, ...);
__noreturn __printf(1, 2) void skip(const char *fmt, ...);

/* --mib is known to those whose @usage shows it. */
struct request parse_request(int argc, char **argv, const char *usage);
/* The bytes to work on: --mib, or else what is usual, or full. */
size_t wanted_size(const struct request *req, size_t usual, size_t full);

/* The same state of the page allocator, whatever ran before.  Large folios are off afterwards. */
void settle(void);

/* Instructions from measure_begin() to measure_end(), which gets what the former gave. */
u64 measure_begin(void);
u64 measure_end(u64 start);
/* The clock that both read. */
u64 clock_now(void);
/* Instructions that this process was on a CPU for, in all its threads, waiting left out. */
u64 cpu_time(void);
/* Page faults of this process so far, and in the stretch last measured. */
unsigned long count_faults(void);
unsigned long measured_faults(void);

/*
 * How every program ends: the two figures that all have, and each counter of
 * /sys/kernel/mm/unmap/stat that the last measured stretch changed.
 */
void report(u64 instructions, u64 pages);
/* "= NAME VALUE UNIT": one figure more. */
void metric(const char *name, u64 value, const char *unit);
/* "~ SERIES X Y": one point of a curve. */
void point(const char *series, u64 x, u64 y);
/* Swathe's counters as the stretch begins, and as it ends. */
void note_counters(bool end);

/*
 * A child that prepares, waits to be let go, and then does what is measured: what
 * fork() gave is handed to these.  One that ends otherwise than with 0 ends its parent too.
 */
void child_prepared(void);
void await_child(pid_t pid);
void release_child(pid_t pid);
void bury_child(pid_t pid);

bool path_exists(const char *path);
void write_text(const char *path, const char *text);
u64 read_number(const char *path);
/* The number after @key at the start of a line, 0 if there is no such line. */
u64 read_field(const char *path, const char *key);

/* Anonymous folios of exactly @kib KiB from now on (4: no large ones). */
void thp_only(unsigned long kib);
u64 thp_stat(unsigned long kib, const char *name);

/* The folio size in KiB that a case such as 64K asks for. */
unsigned long parse_folio(const char *text);

/* An anonymous private range of @len bytes, aligned to 2 MiB. */
char *map_anon(size_t len);
/* Call madvise() or fail, naming the advice. */
#define advise(mem, len, advice)	__advise(mem, len, advice, #advice)
void __advise(void *mem, size_t len, int advice, const char *name);
/* Fail unless the range reads as zero, eight places a page. */
void check_zero(const char *mem, size_t len);
/* Skip unless so much memory can be had. */
void need_memory(size_t len);
/* Have what huge folios the range has mapped by PTEs. */
void split_mapping(char *mem, size_t len);

/* Fail if a PMD maps any memory of this process: kernels differ in when one does. */
void check_ptes(void);
struct census take_census(const void *start, size_t len);
/* The same, and for each page whether it starts a folio. */
struct census map_folios(const void *start, size_t len, bool *heads);
/* Fail unless the range is mapped by aligned folios of exactly @kib KiB. */
void check_folios(const void *start, size_t len, unsigned long kib);
/* Pages of the range with an entry of any kind: present, swapped or marked. */
unsigned long count_entries(const void *start, size_t len);

#endif /* WORKLOAD_H */
