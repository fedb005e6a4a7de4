/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often to try to take others along: what it costs in vain is bounded where those that come
 * next must not go.
 */
#ifndef __MM_UNMAP_PAUSE_H
#define __MM_UNMAP_PAUSE_H

#include <linux/percpu.h>

#include "internal.h"

/**
 * struct unmap_pause - how often to try
 * @left: how many first folios to leave alone
 * @length: how many that were after the last failure
 *
 * Per CPU.  Others may come in between: then it is tried more or less often.
 */
struct unmap_pause {
	unsigned char left, length;
};

/* Whether to leave this folio alone. */
static __always_inline bool unmap_pauses(struct unmap_pause __percpu *pause)
{
	unsigned char left = raw_cpu_read(pause->left);

	if (likely(!left))
		return false;
	raw_cpu_write(pause->left, left - 1);
	return true;
}

/* If it has @failed, pause for @longest first folios at most. */
static __always_inline void unmap_pause_learn(struct unmap_pause __percpu *pause, bool failed,
					      unsigned char longest)
{
	unsigned char length = unmap_pause_after(failed, raw_cpu_read(pause->length), longest);

	raw_cpu_write(pause->length, length);
	raw_cpu_write(pause->left, length);
}

#endif /* __MM_UNMAP_PAUSE_H */
