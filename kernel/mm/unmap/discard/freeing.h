/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stretch of folios that leave one LRU list: see freeing.c.
 */
#ifndef __MM_UNMAP_FREEING_H
#define __MM_UNMAP_FREEING_H

#include <linux/mm_inline.h>

#include "../internal.h"

/**
 * struct lru_debt - what the sizes of an LRU list must still lose
 * @lruvec: whose lock is held, with interrupts disabled; NULL: none is
 * @irqs: the interrupt state, to be restored when the lock is dropped
 * @key: STRETCH_FLAGS of the stretch's folios; 0: there is no stretch
 * @charge: what the stretch's folios are charged to
 * @lru: the list; if @gen is not -1, the inactive list of that type
 * @zid: the zone
 * @gen: the generation of MGLRU; -1: a list of the classic LRU
 * @pages: how many pages left the list since the last payment
 */
struct lru_debt {
	struct lruvec *lruvec;
	unsigned long irqs;
	unsigned long key;
	unsigned long charge;
	enum lru_list lru;
	enum zone_type zid;
	int gen;
	long pages;
};

/*
 * The page flags that, within one control group, say which list a folio is on: folios that
 * agree in them are in the same node and zone.
 */
#define STRETCH_FLAGS							\
	(BIT(PG_lru) | BIT(PG_active) | BIT(PG_unevictable) |		\
	 BIT(PG_swapbacked) | LRU_GEN_MASK | (ZONEID_MASK << ZONEID_PGSHIFT))

/* What a folio of a stretch loses when it leaves the list. */
#define LIST_FLAGS	(BIT(PG_lru) | BIT(PG_active) | LRU_GEN_MASK)

/* The generation that a folio is in, or -1; what it owes there. */
#ifdef CONFIG_LRU_GEN
static inline int lru_debt_gen(struct folio *folio)
{
	return folio_lru_gen(folio);
}

/*
 * A generation is active or inactive by the lruvec's max_seq, which changes only under the
 * lock that is held since the stretch began.
 */
static inline void lru_debt_pay_gen(struct lru_debt *debt)
{
	struct lruvec *lruvec = debt->lruvec;
	bool file = debt->lru == LRU_INACTIVE_FILE;
	long *size = &lruvec->lrugen.nr_pages[debt->gen][file][debt->zid];
	enum lru_list lru = debt->lru;

	WRITE_ONCE(*size, *size - debt->pages);
	if (lru_gen_is_active(lruvec, debt->gen))
		lru += LRU_ACTIVE;
	__update_lru_size(lruvec, lru, debt->zid, -debt->pages);
}
#else
static inline int lru_debt_gen(struct folio *folio)
{
	return -1;
}

static inline void lru_debt_pay_gen(struct lru_debt *debt)
{
}
#endif /* CONFIG_LRU_GEN */

#endif /* __MM_UNMAP_FREEING_H */
