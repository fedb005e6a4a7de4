/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests in processes of their own share.
 *
 * fault_scene.c	memory of a kind with a content to check; processes whose exit is checked
 * fault_swap.c		swap of a chosen size that may fail
 * fault_util.c		failures on demand
 */
#ifndef FAULT_UTIL_H
#define FAULT_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define FIRST_SWAP	"/dev/zram0"	/* the machine's usual swap */

/*
 * For jobs, which run in a process of their own: print the condition that does not hold,
 * and return false.  The process's exit cleans up.
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
 * Memory of one kind.  Every other folio is written a second time, in a few of its pages:
 * that makes file folios dirty, and lazyfree folios must then be kept.
 */
struct scene {
	enum kind kind;
	unsigned long kib;
	size_t len;
	int fd;
	char *mem;
};

/* NULL, or what this kind of memory needs and the machine lacks. */
const char *scene_needs(enum kind kind);
bool scene_make(struct scene *scene);
void scene_drop(struct scene *scene);
/*
 * The number of pages with wrong content.  A lazyfree page may be zero if it was not
 * rewritten.
 */
long scene_wrong(const struct scene *scene);
bool scene_was_rewritten(const struct scene *scene, size_t page);
bool scene_page_ok(const struct scene *scene, size_t page);
/* Reclaim as much of it as possible, through the control group. */
void scene_reclaim(const struct scene *scene);
/* Write all of it again, with the content that it should have. */
void scene_refill(struct scene *scene);

/* Content that cannot be compressed, and differs from page to page. */
void noise(char *page, size_t index, unsigned char seed);
bool is_noise(const char *page, size_t index, unsigned char seed);

/*
 * Run @job in a process of its own, and wait for its exit.  False if it failed, or if the
 * kernel log has a complaint: at exit a process's counters must be exactly zero.
 */
bool apart(bool (*job)(struct scene *scene), struct scene *scene);
/* The same in two steps, for a test that acts while the process runs. */
int start_apart(bool (*job)(struct scene *scene), struct scene *scene);
bool kernel_is_calm(int log);

/* Swap to a new zram device of this size only; false if there is no such device. */
bool swap_only(size_t bytes);
/* Limit the memory that the device may use: writes beyond the limit fail. */
bool swap_memory_limit(size_t bytes);
/* Whether "fail_make_request" applies to the device. */
bool swap_may_fail(bool may);
/* The number of failed writes; the kernel log reports only some of them. */
long long swap_failed_writes(void);
/* Restore the usual swap.  False if a slot of the device stays in use: a reference leaked. */
bool swap_back(void);
long long swap_free_pages(void);

/*
 * Inject failures of @what: "failslab", "fail_page_alloc", "fail_make_request", or
 * "fail_pte_map" (pte_offset_map_lock() finds no table; only in kernels built for tests).
 * They hit @percent of this process's calls below the kernel function @below; without it,
 * of its calls between faults_task(true) and faults_task(false).
 */
bool faults_on(const char *what, const char *below, int percent);
bool faults_task(bool on);
/* Stop injecting.  Returns the number of failures. */
long faults_off(const char *what);

/*
 * In kernels built for tests: a table that is being freed stays reachable for this many
 * microseconds, with its locks held.  Widens the race with readers.
 */
void table_window(unsigned int us);

#endif /* FAULT_UTIL_H */
