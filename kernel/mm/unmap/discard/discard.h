/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Discarding: the state of one pass over a stretch of a page table.
 *
 * All of these functions but discard_begin() and those for huge pages are called with the
 * page-table lock held, and with the RCU read lock, which pte_offset_map_lock() takes.  All but
 * discard_range() return so.
 */
#ifndef __MM_UNMAP_DISCARD_H
#define __MM_UNMAP_DISCARD_H

#include <linux/mm.h>
#include <linux/mm_inline.h>

#include <asm/tlb.h>

#include "../compat_rmap.h"
#include "../internal.h"
#include "../rmap.h"
#include "../run.h"
#include "../tables/table.h"

/* Which empty page tables to give back. */
enum discard_tables_wanted {
	WANT_NO_TABLES,
	WANT_LATER,		/* asked, and the batch begun, when one may be empty */
	WANT_EDGES,		/* munmap(): those of which it discards a part only */
	WANT_CLEARED,		/* with a file's rmap lock: those in which it cleared an entry */
	WANT_ALL_TABLES,
};

/* What is left to do with a page table after its lock was dropped. */
enum discard_table {
	TABLE_STAYS,		/* nothing: it stays, or was noted */
	TABLE_EMPTIED,		/* if it is empty still, unhook it for the mmu_gather */
	TABLE_UNHOOKED,		/* hand it to the mmu_gather */
	TABLE_FLUSHED,		/* it was unhooked and flushed: free it */
};

/**
 * struct discard - a pass over a stretch of one page table
 * @tlb: gathers the pages to free and the addresses to flush
 * @vma: contains @addr to @end
 * @details: which pages must stay; NULL: none
 * @tables_wanted: which empty page tables to give back
 * @tables: the batch in which to note them; NULL: do not note any
 * @start: the first address that the caller discards, perhaps in an earlier table
 * @limit: the end of all that the caller discards, perhaps in a later table
 * @ptep: the current entry
 * @addr: its user address
 * @end: where to stop, in the same table; moved back when the mmu_gather is full
 * @debt: mapped-page statistics not updated yet
 * @rss: to be added to the mm's counters
 * @gathered: how many pages of large anonymous folios this call has gathered and not yet freed
 * @runs: how many runs of present pages were cleared
 * @entries: how many entries were in them
 * @others: other entries were cleared: not present, or without a page that is counted
 * @remains: an entry of the stretch that was passed is in use still
 * @force_flush: flush the TLB before the page-table lock is dropped
 */
struct discard {
	struct mmu_gather *tlb;
	struct vm_area_struct *vma;
	struct zap_details *details;
	enum discard_tables_wanted tables_wanted;
	struct table_batch *tables;
	unsigned long start, limit;
	pte_t *ptep;
	unsigned long addr, end;
	struct rmap_debt debt;
	int rss[NR_MM_COUNTERS];
	unsigned int gathered;
	unsigned int runs, entries;
	bool others;
	bool remains;
	bool force_flush;
};

/* Law 2: entries from the current one to the end of the stretch, in one table and VMA. */
static inline unsigned int discard_left(const struct discard *d)
{
	return (d->end - d->addr) >> PAGE_SHIFT;
}

static inline bool discard_zap_flag(const struct zap_details *details, zap_flags_t flag)
{
	return details && details->zap_flags & flag;
}

/*
 * Whether stock would free the page table of @addr, whose stretch ends at @end, because one
 * MADV_DONTNEED discards all that it maps (since 6.18).  Then the next fault there may allocate a
 * huge page (law 11).
 */
static inline bool discard_takes_all(const struct discard *d, unsigned long addr,
				     unsigned long end)
{
	return unmap_zap_reclaims(d->details) && !(end & ~PMD_MASK) &&
	       d->start <= (addr & PMD_MASK);
}

/*
 * Whether a flush for the table of this pass serves no other table: it is the last of the call,
 * and no other was noted.
 */
static inline bool discard_is_last(const struct discard *d)
{
	return d->addr == d->limit && !d->tables->empty;
}

/* Whether the page table goes to the mmu_gather if it is empty: see table_gather.c. */
static inline bool discard_is_for_gather(const struct discard *d, unsigned long addr)
{
	return IS_ENABLED(CONFIG_UNMAP_GATHER_TABLES) && discard_takes_all(d, addr, d->end) &&
	       unmap_table_may_be_gathered(d->vma);
}

/* Whether to discard anonymous pages: truncation may keep COWed pages (!even_cows). */
static inline bool discard_private(const struct discard *d)
{
	return !d->details || compat_zap_cows(d->details);
}

static inline bool discard_wanted(const struct discard *d,
				  const struct folio *folio)
{
	return discard_private(d) || !folio_test_anon(folio);
}

/* Whether to drop all markers: the VMA goes, or what it maps is truncated. */
static inline bool discard_drops_markers(const struct discard *d)
{
	return discard_zap_flag(d->details, ZAP_FLAG_DROP_MARKER);
}

/* Whether to drop userfaultfd markers, and not to leave new ones. */
static inline bool discard_markers(const struct discard *d)
{
	return vma_is_anonymous(d->vma) || discard_drops_markers(d);
}

/* Write markers, if needed, into @nr cleared entries that agreed with @pte in uffd-wp. */
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

/*
 * Set up @d for a stretch.  Many stretches map next to nothing, and zeroing the whole
 * structure for them would cost measurably.  Needs no lock.
 */
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
unsigned long discard_range(struct discard *d, pmd_t *pmd, pte_t *start, spinlock_t *ptl);

/* discard_tables.c */
bool discard_ask(struct discard *d);
void discard_note_table(struct discard *d, pmd_t *pmd, unsigned long addr);
bool discard_lets_wait(struct discard *d, pte_t *table, unsigned long addr);
bool discard_give_back(struct discard *d, pmd_t *pmd, pte_t *table, unsigned long addr,
		       spinlock_t *ptl);

/* discard_huge.c: only with CONFIG_TRANSPARENT_HUGEPAGE. */
bool discard_huge_is_written_back(const struct discard *d);
unsigned int discard_huge_written(struct discard *d, pmd_t *pmd, unsigned long addr);

/* discard_nonpresent.c: entries that are not present.  Returns how many it has passed. */
unsigned int discard_nonpresent(struct discard *d, pte_t pte);

#endif /* __MM_UNMAP_DISCARD_H */
