/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unmapping ahead: when reclaim unmaps a single page, it unmaps the pages behind it, too, if
 * they are the next folios on reclaim's list.  See ahead.c.
 */
#ifndef __MM_UNMAP_AHEAD_H
#define __MM_UNMAP_AHEAD_H

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/percpu.h>
#include <linux/rmap.h>
#include <linux/sched.h>

#include "../internal.h"
#include "../pause.h"
#include "../knobs.h"

/* A stretch has at most 32 folios: the first, and its successors. */
#define UNMAP_AHEAD_MAX		31

/* A folio that is locked, and its entry as it was cleared, if it is a successor. */
struct unmap_taken {
	struct folio *folio;
	pte_t pte;
};

/**
 * struct unmap_ahead - a stretch of folios that are unmapped together
 * @flags: as passed to try_to_unmap() for the first folio
 * @rest: reclaim's list without the first folio.  Only the caller uses it, and holds a
 *	reference to each folio on it; the next one is the last on it.
 * @references: a referenced folio must stay
 * @io: folios may be given swap entries
 * @next: where the search on @rest goes on: the folios behind it were taken, or passed
 * @kind: what the first folio is: page cache, lazyfree or in the swap cache
 * @wanting: the first folio on @rest that would be a successor if it had a swap entry
 * @wanted: how many of these there are in a row
 * @first: where the stretch's successors begin in @taken
 * @nr: how many folios are in @taken
 * @taken: the successors; in ahead_list.c those of several stretches, with the folios that lead
 *	them
 */
struct unmap_ahead {
	enum ttu_flags flags;
	bool references;
	bool io;
	struct list_head *rest;
	struct list_head *next;
	enum unmap_kind kind;
	struct list_head *wanting;
	unsigned int wanted;
	unsigned int first;
	unsigned int nr;
	struct unmap_taken taken[UNMAP_AHEAD_MAX];
};

DECLARE_PER_CPU(struct unmap_pause, unmap_ahead_pause);

/* How often the task has stopped to run so far. */
static inline unsigned long unmap_ahead_switches(void)
{
	return current->nvcsw + current->nivcsw;
}

/* ahead_judge.c */
bool unmap_ahead_suits(const struct unmap_op *op, struct unmap_ahead *ahead);
bool unmap_ahead_is_mapped(struct folio *folio, pte_t pte);
bool unmap_ahead_needs_care(struct folio *folio);
bool unmap_ahead_may_go(const struct unmap_op *op, const struct unmap_ahead *ahead,
			struct folio *folio, pte_t pte);
bool unmap_ahead_is_hot(const struct unmap_ahead *ahead, struct folio *folio, pte_t pte);
bool unmap_ahead_wants_swap(const struct unmap_op *op, const struct unmap_ahead *ahead,
			    struct folio *folio, pte_t pte);

/* ahead_swap.c: only with CONFIG_UNMAP_AHEAD_SWAP. */
void unmap_ahead_look(const struct unmap_op *op, struct unmap_ahead *ahead,
		      unsigned int left);
unsigned int unmap_ahead_swap(struct unmap_ahead *ahead);
bool unmap_ahead_swap_one(struct folio *folio);

/* ahead.c */
void unmap_ahead_collect(const struct unmap_op *op, struct unmap_ahead *ahead);
void unmap_ahead_stretch(struct unmap_op *op, struct unmap_ahead *ahead);
bool unmap_ahead(struct unmap_op *op, struct unmap_ahead *ahead);
void unmap_ahead_end(struct unmap_ahead *ahead);

/*
 * Whether the next folio may be mapped behind @folio: their indices are consecutive.  A
 * hint, which costs little where reclaim's list is shuffled.  @folio is locked, the next one
 * is not: a wrong answer does not matter.
 */
static inline bool unmap_ahead_hinted(struct folio *folio, struct list_head *rest)
{
	struct folio *next = list_last_entry(rest, struct folio, lru);

	return !list_empty(rest) && READ_ONCE(next->index) == folio->index + 1;
}

/* Whether @folio may be the first of a stretch: a single page that is mapped once. */
static inline bool unmap_ahead_may_lead(struct folio *folio)
{
	return !folio_test_large(folio) && folio_mapcount(folio) == 1 &&
	       !folio_test_ksm(folio) && READ_ONCE(unmap_max_run) > 1 &&
	       !unmap_pauses(&unmap_ahead_pause);
}

#endif /* __MM_UNMAP_AHEAD_H */
