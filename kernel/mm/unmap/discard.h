/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Discarding: what one pass over a stretch of a page table keeps in mind.
 *
 * The page-table lock is held on entry and return everywhere here, and with
 * it, since pte_offset_map_lock(), the RCU read lock.
 */
#ifndef __MM_UNMAP_DISCARD_H
#define __MM_UNMAP_DISCARD_H

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>

#include <asm/tlb.h>

#include "internal.h"
#include "run.h"
#include "table.h"

/**
 * struct rmap_debt - rmap statistics owed for consecutive pages
 * @lruvec: where all of them count; null if they are charged to nobody
 * @charge: memcg_data of all of their folios
 * @nid: the node of all
 * @item: NR_ANON_MAPPED or NR_FILE_MAPPED
 * @nr: how many pages nothing maps any more
 *
 * What is owed does not depend on the folios: once nothing maps them, they may be
 * charged to another, or freed (s390), before the debt is paid.  The lruvec
 * stays as long as the RCU read lock is held.
 */
struct rmap_debt {
	struct lruvec *lruvec;
	unsigned long charge;
	int nid;
	enum node_stat_item item;
	int nr;
};

/* Which empty tables are to be given back. */
enum discard_wanted {
	WANT_NO_TABLES,
	WANT_EDGES,		/* munmap(): those that are not discarded entirely */
	WANT_CLEARED,		/* under a file's rmap lock: those in which something was cleared */
	WANT_ALL_TABLES,
};

/**
 * struct discard - a stretch of one page table
 * @tlb: the gather that pages and addresses go to
 * @vma: mapped at @addr up to @end at least
 * @details: what is to stay; null: nothing
 * @wanted: which empty tables are to be given back
 * @tables: where they are noted; null: nobody wants to know
 * @start: where the caller began, perhaps in a table before
 * @ptep: the entry at hand, of the address @addr
 * @addr: in user memory
 * @end: where to stop, in the same table; nearer when the gather is full
 * @debt: not paid yet
 * @rss: to be added to the mm's counters
 * @runs: how many there were, and
 * @entries: how many entries in them, all of present pages that count
 * @others: whether other entries were cleared: not present, or of no page that counts
 * @remains: whether an entry of the stretch so far is in use still
 * @force_flush: the TLB must be flushed before the page-table lock is dropped
 */
struct discard {
	struct mmu_gather *tlb;
	struct vm_area_struct *vma;
	struct zap_details *details;
	enum discard_wanted wanted;
	struct table_batch *tables;
	unsigned long start;
	pte_t *ptep;
	unsigned long addr, end;
	struct rmap_debt debt;
	int rss[NR_MM_COUNTERS];
	unsigned int runs, entries;
	bool others;
	bool remains;
	bool force_flush;
};

/* Law 2: from the entry at hand to the end of table and VMA. */
static inline unsigned int discard_left(const struct discard *d)
{
	return (d->end - d->addr) >> PAGE_SHIFT;
}

/* Without details all goes; otherwise pages of private memory may have to stay. */
static inline bool discard_private(const struct discard *d)
{
	return !d->details || d->details->even_cows;
}

static inline bool discard_wanted(const struct discard *d,
				  const struct folio *folio)
{
	return discard_private(d) || !folio_test_anon(folio);
}

/* A userfaultfd marker goes, or is not left, if nothing is to know of it. */
static inline bool discard_markers(const struct discard *d)
{
	return vma_is_anonymous(d->vma) ||
	       (d->details && d->details->zap_flags & ZAP_FLAG_DROP_MARKER);
}

/* Entries that agreed with @pte in userfaultfd's bit were cleared. */
static inline void discard_leave_markers(struct discard *d, unsigned int nr,
					 pte_t pte)
{
	const struct pte_run run = {
		.ptep = d->ptep, .addr = d->addr, .nr = nr, .pte = pte,
	};

	if (discard_markers(d))
		return;
	unmap_run_leave_markers(d->vma, &run);
	d->remains = true;
}

/* Many stretches hold next to nothing: clearing all of it would be felt. */
static __always_inline void discard_begin(struct discard *d, unsigned long addr,
					  unsigned long end)
{
	d->addr = addr;
	d->end = end;
	d->debt.nr = 0;
	memset(d->rss, 0, sizeof(d->rss));
	d->runs = 0;
	d->entries = 0;
	d->others = false;
	d->remains = false;
	d->force_flush = false;
}

/* discard.c */
unsigned long discard_range(struct discard *d, pmd_t *pmd);

/* discard_tables.c */
void discard_note_table(struct discard *d, pmd_t *pmd, unsigned long addr);

/* discard_nonpresent.c: what is not present.  Returns how many entries are done. */
unsigned int discard_nonpresent(struct discard *d, pte_t pte);

/* discard_rmap.c */
int discard_rmap_large(struct folio *folio, struct page *page, unsigned int nr);
void discard_open_debt(struct rmap_debt *debt, struct folio *folio,
		       enum node_stat_item item);
void discard_pay_debt(struct rmap_debt *debt);

/* Nothing maps @nr pages of this folio any more: the statistics say so later. */
static __always_inline void discard_owe(struct rmap_debt *debt,
					struct folio *folio,
					enum node_stat_item item, int nr)
{
	if (unlikely(!debt->nr || compat_charge(folio) != debt->charge ||
		     folio_nid(folio) != debt->nid || item != debt->item))
		discard_open_debt(debt, folio, item);
	debt->nr += nr;
}

#endif /* __MM_UNMAP_DISCARD_H */
