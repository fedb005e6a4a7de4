/* SPDX-License-Identifier: GPL-2.0-only */
/* Single pages of one table that migrate together: how many at most, and how often to try. */
#ifndef __MM_UNMAP_RELOCATE_BATCH_H
#define __MM_UNMAP_RELOCATE_BATCH_H

#include "../pause.h"

/* A fault waits until so many pages were copied: the one that it needs, and the others. */
#define RELOCATE_BATCH_MAX	32
#define BATCH_LONGEST_PAUSE	31

/* To unmap together. */
DECLARE_PER_CPU(struct unmap_pause, unmap_batch_pause);

#endif /* __MM_UNMAP_RELOCATE_BATCH_H */
