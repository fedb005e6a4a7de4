/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests under faults share: memory of a kind with a content to check, swap
 * of a chosen size, failures on demand, and processes whose end is looked at.
 */
#ifndef FAULT_UTIL_H
#define FAULT_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * For jobs, which run in a process of their own: say what does not hold, and give
 * up.  What was mapped and charged goes with the process.
 */
#define CHECK(cond)								\
	do {									\
		if (!(cond)) {							\
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);	\
			return false;						\
		}								\
	} while (0)

#define CHECK_EQ(want, got)							\
	do {									\
		long long __want = (want), __got = (got);			\
										\
		if (__want != __got) {						\
			printf("# %s:%d: %s is %lld instead of %lld\n",		\
			       __FILE__, __LINE__, #got, __got, __want);	\
			return false;						\
		}								\
	} while (0)

enum kind { ANON, LAZYFREE, FILE_SHARED, SHMEM };

/*
 * Memory of one kind.  Every other folio is written a second time, in a few of its
 * pages: such lazyfree folios must be kept, and such file folios are dirty.
 */
struct scene {
	enum kind kind;
	unsigned long kib;
	size_t len;
	int fd;
	char *mem;
};

/* Null, or what is missing for this kind. */
const char *scene_needs(enum kind kind);
bool scene_make(struct scene *scene);
void scene_drop(struct scene *scene);
/* Pages that hold neither what was written last nor, where that is allowed, nothing. */
long scene_wrong(const struct scene *scene);
bool scene_was_rewritten(const struct scene *scene, size_t page);
bool scene_page_ok(const struct scene *scene, size_t page);
/* Reclaim whatever of it can be reclaimed, through the control group. */
void scene_reclaim(const struct scene *scene);
/* Write all of it once more, each page with what it should hold. */
void scene_refill(struct scene *scene);

/* Content that cannot be compressed, different from page to page. */
void noise(char *page, size_t index, unsigned char seed);
bool is_noise(const char *page, size_t index, unsigned char seed);

/*
 * Run @job in a process of its own, and wait for its end.  False when it failed, or
 * when the kernel complained: at its end a process's counters must be zero exactly.
 */
bool apart(bool (*job)(struct scene *scene), struct scene *scene);
/* The same in two steps, for a process that is disturbed meanwhile. */
int start_apart(bool (*job)(struct scene *scene), struct scene *scene);
bool kernel_is_calm(int log);

/* Swap on a new zram device of this size alone; false if that cannot be had. */
bool swap_only(size_t bytes);
/* How much memory the device may take for what is written to it: beyond, writes fail. */
bool swap_memory_limit(size_t bytes);
/* Whether "fail_make_request" makes it fail. */
bool swap_may_fail(bool may);
/* How many the device refused: the log tells of a few of them only. */
long long swap_failed_writes(void);
/* As it was.  False when a slot of the device stays in use: a reference was lost. */
bool swap_back(void);
long long swap_free_pages(void);

/*
 * Failures of @what: "failslab", "fail_page_alloc", "fail_make_request", or "fail_pte_map"
 * (pte_offset_map_lock() finds no table, in kernels that can be broken), in @percent
 * of the calls that this process makes below the kernel function @below; without, of all
 * that it makes between faults_task(true) and faults_task(false).
 */
bool faults_on(const char *what, const char *below, int percent);
bool faults_task(bool on);
/* Off again; how many there were. */
long faults_off(const char *what);

/* A read of one byte; false when that raised SIGBUS. */
bool try_read(const char *addr);

#endif /* FAULT_UTIL_H */
