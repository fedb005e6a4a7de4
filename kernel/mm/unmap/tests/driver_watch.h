/* SPDX-License-Identifier: GPL-2.0-only */
/* Stops a reader of page tables after one of its accesses to a PMD: see driver_watch.c. */
#ifndef __MM_UNMAP_DRIVER_WATCH_H
#define __MM_UNMAP_DRIVER_WATCH_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/pgtable.h>

#include "driver.h"

struct perf_event;

/**
 * struct watch - the accesses of one task to one PMD
 * @event: the breakpoints, on the PMD, on its lock, and on an entry of its table; null if there
 *	are none
 * @pmd: the PMD that is watched
 * @state: state of the watched task, an enum in driver_watch.c
 * @want: what the test asked for
 * @seen: what happened
 */
struct watch {
	struct perf_event *event[3];
	pmd_t *pmd;
	atomic_t state;
	struct unmap_driver_watch want;
	struct unmap_driver_watched seen;
};

#ifdef CONFIG_UNMAP_WATCH
int unmap_watch_begin(struct watch *w, const struct unmap_driver_watch *want);
void unmap_watch_end(struct watch *w);
int unmap_watch_await(struct watch *w);
void unmap_watch_close(struct watch *w);
#else
static inline int unmap_watch_begin(struct watch *w,
				    const struct unmap_driver_watch *want)
{
	return -EOPNOTSUPP;
}

static inline void unmap_watch_end(struct watch *w)
{
}

static inline int unmap_watch_await(struct watch *w)
{
	return -EOPNOTSUPP;
}

static inline void unmap_watch_close(struct watch *w)
{
}
#endif

#endif /* __MM_UNMAP_DRIVER_WATCH_H */
