/* SPDX-License-Identifier: GPL-2.0-only */
/* Single pages of one table that migrate together: how many at most, and how often to try. */
#ifndef __MM_UNMAP_RELOCATE_BATCH_H
#define __MM_UNMAP_RELOCATE_BATCH_H

#include <linux/percpu.h>

#include "../internal.h"

/* A fault waits until so many pages were copied: the one that it needs, and the others. */
#define RELOCATE_BATCH_MAX	32
#define BATCH_LONGEST_PAUSE	31

/**
 * struct batch_pause - how often to try
 * @left: how many first folios to leave alone
 * @length: how many that were after the last failure
 *
 * Each CPU has one.  Others may come in between: then it is tried more or less often.
 */
struct batch_pause {
	unsigned char left, length;
};

/* To unmap together. */
DECLARE_PER_CPU(struct batch_pause, unmap_batch_pause);

static inline bool batch_pauses(struct batch_pause __percpu *pause)
{
	unsigned char left = raw_cpu_read(pause->left);

	if (likely(!left))
		return false;
	raw_cpu_write(pause->left, left - 1);
	return true;
}

static inline void batch_learn(struct batch_pause __percpu *pause, bool failed)
{
	unsigned char length = unmap_pause_after(failed, raw_cpu_read(pause->length),
						 BATCH_LONGEST_PAUSE);

	raw_cpu_write(pause->length, length);
	raw_cpu_write(pause->left, length);
}

#endif /* __MM_UNMAP_RELOCATE_BATCH_H */
