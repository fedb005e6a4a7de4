/* SPDX-License-Identifier: GPL-2.0-only */
/* The cases of ptetables: what prepares a range, and what empties it. */
#ifndef PTETABLES_H
#define PTETABLES_H

#include "workload.h"

#define TABLE	(2 * MIB)	/* what one page table maps */

/* What a case works on; prepare and call get it, the checks at the end read it. */
struct range {
	char *mem;
	size_t len;
	size_t step;	/* between touched pages */
	size_t pages;	/* that are to go */
	char byte;	/* what all touched pages then begin with */
	char *there;	/* where the pages went, if they live on */
	int fd;		/* what is mapped, or moves the pages */
	u64 after;	/* VmPTE, if not this process's own after the call */
};

typedef void range_fn(struct range *r);

/* ptetables_anon.c: anonymous memory, and what all need */
u64 vmpte(void);
range_fn touch, touch_and_zap, plot_touch_and_zap, zap_pieces, zap_shifted;
range_fn make_lazyfree, page_out, make_emptied, fork_and_exit;

/* ptetables_files.c: shared memory, and a file */
range_fn make_shared, punch_hole, truncate_all, grow_again, make_mapped_file;

/* ptetables_moves.c: pages that live on elsewhere */
range_fn make_target, move_mapping, watch_target, move_by_userfault;

#endif /* PTETABLES_H */
