/* SPDX-License-Identifier: GPL-2.0-only */
/* The cases of ptetables: functions that prepare a range, and functions that empty it. */
#ifndef PTETABLES_H
#define PTETABLES_H

#include "lib/tables.h"
#include "lib/workload.h"

/* The range of a case.  prepare() and call() fill it in, the final checks read it. */
struct range {
	char *mem;
	size_t len;
	size_t step;	/* between touched pages */
	size_t pages;	/* that the call removes */
	char byte;	/* the first byte of each touched page, after the call */
	char *there;	/* where the call moved the pages to; or NULL */
	int fd;		/* the mapped file, or the userfaultfd */
	u64 after;	/* VmPTE; 0: take this process's own after the call */
};

typedef void range_fn(struct range *r);

/* ptetables_anon.c: anonymous memory */
range_fn touch, touch_and_zap, plot_touch_and_zap, zap_pieces, zap_shifted;
range_fn make_lazyfree, page_out, make_emptied, fork_and_exit;

/* ptetables_files.c: shared memory, and a file */
range_fn make_shared, punch_hole, truncate_all, grow_again, make_mapped_file;

/* ptetables_moves.c: pages that move elsewhere */
range_fn make_target, move_mapping, watch_target, move_by_userfault;

#endif /* PTETABLES_H */
