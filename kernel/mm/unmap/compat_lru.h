/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How kernels differ in what freeing.c needs: LRU lists, and freeing folios.
 */
#ifndef __MM_UNMAP_COMPAT_LRU_H
#define __MM_UNMAP_COMPAT_LRU_H

#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/unmap.h>

#ifdef CONFIG_UNMAP_STOCK_BATCH_GAPS
#include <linux/folio_batch.h>
#include "../page_alloc.h"
#define PAGEVEC_SIZE	FOLIO_BATCH_SIZE
#else
#include <linux/pagevec.h>
#endif

static inline unsigned long *compat_folio_flags(struct folio *folio)
{
#ifdef CONFIG_UNMAP_STOCK_FLAGS_TYPE
	return &folio->flags.f;
#else
	return &folio->flags;
#endif
}

/* Whether a batch has lost a folio there: one may be taken out while it is drained. */
static inline bool compat_is_gap(const struct folio *folio)
{
	return IS_ENABLED(CONFIG_UNMAP_STOCK_BATCH_GAPS) && !folio;
}

/*
 * Drop what folio_lruvec_relock_irqsave() has taken: the lruvec's lock and, where what
 * a folio is charged to may change, the RCU read lock.
 */
static inline void compat_lruvec_unlock_irqrestore(struct lruvec *lruvec, unsigned long irqs)
{
#ifdef CONFIG_UNMAP_STOCK_LRU_RCU
	lruvec_unlock_irqrestore(lruvec, irqs);
#else
	unlock_page_lruvec_irqrestore(lruvec, irqs);
#endif
}

#endif /* __MM_UNMAP_COMPAT_LRU_H */
