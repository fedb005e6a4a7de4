/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How Linux 6.12 and 7.3 differ in what freeing.c needs: LRU lists, and freeing folios.
 */
#ifndef __MM_UNMAP_COMPAT_LRU_H
#define __MM_UNMAP_COMPAT_LRU_H

#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/unmap.h>

#if UNMAP_ON_6_12
#include <linux/pagevec.h>
#else
#include <linux/folio_batch.h>
#include "../page_alloc.h"
#define PAGEVEC_SIZE	FOLIO_BATCH_SIZE
#endif

static inline unsigned long *compat_folio_flags(struct folio *folio)
{
#if UNMAP_ON_6_12
	return &folio->flags;
#else
	return &folio->flags.f;
#endif
}

/* Whether a batch has lost a folio there: since 7.3 one may be taken out while it is drained. */
static inline bool compat_is_gap(const struct folio *folio)
{
	return !UNMAP_ON_6_12 && !folio;
}

/*
 * Drop what folio_lruvec_relock_irqsave() has taken: the lruvec's lock, on 7.3 the RCU read
 * lock, too.
 */
static inline void compat_lruvec_unlock_irqrestore(struct lruvec *lruvec, unsigned long irqs)
{
#if UNMAP_ON_6_12
	unlock_page_lruvec_irqrestore(lruvec, irqs);
#else
	lruvec_unlock_irqrestore(lruvec, irqs);
#endif
}

#endif /* __MM_UNMAP_COMPAT_LRU_H */
