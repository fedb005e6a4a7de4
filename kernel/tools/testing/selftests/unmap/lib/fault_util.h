/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests in processes of their own share.
 *
 * fault_scene.c	memory of a kind with a content to check; processes whose exit is checked
 * fault_swap.c		swap of a chosen size that may fail
 * fault_child.c	children that run a job in steps; control groups for them
 * fault_latency.c	how long mmap() takes while a throttled task reclaims the process
 * fault_util.c		failures on demand, and the time
 */
#ifndef FAULT_UTIL_H
#define FAULT_UTIL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

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

/*
 * Wait until @cond holds, which other tasks bring about a little later.  If it does not in
 * PATIENCE seconds, print it, and return false.
 */
#define PATIENCE	60
#define AWAIT(cond)								\
	do {									\
		double __end = now() + PATIENCE;				\
										\
		while (!(cond)) {						\
			if (now() >= __end) {					\
				printf("# %s:%d: still not: %s\n", __FILE__,	\
				       __LINE__, #cond);			\
				return false;					\
			}							\
			usleep(10000);						\
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
/* How many windows there were since boot, while that was not 0; -1: not in this kernel. */
long long windows_opened(void);
/* Wait in the window with this number only; 0: in all. */
void table_window_at(long long nr);

double now(void);		/* seconds */
/*
 * False if the load of a host changes how long things take, or KASAN, which makes them take six to
 * fifteen times as long: the lab says UNMAP_CLOCK=host to such programs.  Tests that judge times
 * are then skipped.
 */
bool clock_is_exact(void);
#define CLOCK_INEXACT	"judges times, which KASAN or the host's load changes here (UNMAP_CLOCK=host)"

#define GROUPS		"/sys/fs/cgroup/unmap-groups"

/* fault_child.c: control groups below GROUPS, for reclaim.  "" is GROUPS itself. */
bool group_write(const char *group, const char *file, const char *text);
bool group_make(const char *group);
bool group_remove(const char *group);
bool group_enter(const char *group, pid_t pid);
/* Make GROUPS, with these controllers for the groups below it. */
bool groups_make(const char *controllers);

/*
 * fault_child.c: a child that runs a job in steps.  The job calls child_done() after each
 * step, which waits for child_go_on(); or child_says_done(), which does not wait.
 */
struct child {
	pid_t pid;
	int to, from;		/* pipes; in the child, its own ends */
};

bool child_start(struct child *child, void (*job)(struct child *child, void *arg), void *arg);
void child_says_done(struct child *child);
void child_done(struct child *child);
bool child_wait(struct child *child);
bool child_go_on(struct child *child);
void child_end(struct child *child);

/*
 * fault_latency.c: a task that may use little of a CPU (cpu.max) reclaims the memory of another
 * process, the victim, all the time.  A thread of the victim measures its mmap() and munmap().
 */
#define DECADES		7	/* below 10 us, 100 us, ... */
#define STALL		0.05	/* seconds */

struct latency {
	long nr[DECADES];
	double longest;		/* seconds */
	double stalled;		/* seconds in calls that took STALL or longer */
	bool stop;
};

struct throttled {
	struct latency *latency;
	/* The victim says that it is done when it is ready, and again after @latency->stop. */
	void (*victim)(struct child *child, void *latency);
	const char *counter;		/* of what costs the victim */
};

/* NULL, or what the machine lacks.  @quota: for cpu.max. */
const char *latency_begin(struct throttled *t, const char *quota);
void latency_end(struct throttled *t);
/* In the victim: enter its group, and start the thread; false if that fails. */
bool latency_start(pthread_t *thread, struct latency *latency);
/*
 * Measure for so long.  Whether @counter rose, and the victim was stalled for less than a tenth
 * of the time.
 */
bool latency_stays_low(struct throttled *t, double seconds);

#endif /* FAULT_UTIL_H */
