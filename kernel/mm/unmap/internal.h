/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Vocabulary and laws of mm/unmap/.
 *
 * A RUN is a stretch of consecutive entries in one page table that map
 * consecutive pages of one folio and agree in every bit that must survive.
 * To EVICT is to unmap for reclaim: the page may come back.  To DISCARD is to
 * unmap because the range goes away: nobody asks for write permission and
 * soft-dirty any more, so its runs may differ in them.  A LEFTOVER is what an
 * entry holds after its page went: nothing, a userfaultfd marker, a swap entry,
 * or a poison entry.
 */

/**
 * DOC: laws
 *
 * 1. Order.  Clear the entries; invalidate the TLB or record the deferred
 *    flush; only then remove rmap, then drop references.  A page must not be
 *    written out or freed while a TLB can still reach it: reclaim flushes
 *    what was deferred before it does either.  unmap_run_clear() does the
 *    first two together; unmap_run_retire() asserts that the entries are gone.
 *    What is discarded waits in the mmu_gather for its flush: discard_note_cleared() asserts
 *    that the entries are gone and recorded there, before anything else goes.
 *
 * 2. Bounds.  A run never leaves its page table, its VMA or its folio.
 *    Asserted in unmap_run_clear() and in discard_present().
 *
 * 3. Put back exactly.  A run that cannot be unmapped gets its entries back:
 *    none gains write permission, none gains or loses soft-dirty or
 *    userfaultfd write-protection.  Accessed and dirty may be gained, never
 *    lost.  This is why a run agrees in all bits but those two.
 *    unmap_run_put_back() asserts that nobody filled the entries meanwhile.
 *
 * 4. Account as you go.  What was unmapped before a failure is fully
 *    accounted (rss, rmap, references) before the failure is returned.
 *    Holds by construction: unmap_run_retire() does all of it for one run,
 *    and no run starts before the last one was retired or put back.  When
 *    discarding, discard_settle_accounts() does it for all before the lock is dropped, and
 *    asserts that nothing is owed where it has nothing to do.  Tested by accounting,
 *    discard -t statistics, and each process that ends with counters to be zero.
 *
 * 5. Lazyfree.  Clear; smp_mb(); read the reference count; smp_rmb(); read
 *    dirty.  An unexpected reference is not "dirty": the folio stays lazyfree
 *    and can be dropped later.  A dirtied folio becomes swap-backed again and
 *    is never lost.  See evict_lazyfree.c: judge() asserts that the entries are gone.
 *    No assertion sees the order of its reads: others may write meanwhile by right.
 *    Tested by lazyfree -t raced, putback -t extra_reference, memx.
 *
 * 6. Anonymous-exclusive is per page.  Where swap entries are left behind, a
 *    run agrees in it, and the entries say what the pages said.  A folio that
 *    may be pinned stays.  Asserted in unmap_evict_swap().
 *
 * 7. Tables.  A page table is unhooked only with the mmap lock (for reading at
 *    least), the PMD lock and its own lock held, after all of its entries were seen
 *    none inside the last two; page-walk caches are flushed before the PMD lock is
 *    dropped; it is freed after an RCU grace period, never with a broadcast for it
 *    alone.  See table.c; batch_lock_mmap() and table_lock_and_unhook() assert the locks,
 *    and discard_tables.c that a caller holds the lock it says it holds.
 *
 * 8. Readers.  Whoever maps a table without its lock looks at the PMD again after
 *    taking the lock, or can tell by an entry that was in use.  See table_readers.c;
 *    table_free_rcu() asserts that nothing was put into a table that is gone.
 *
 * 9. Order-0 folios pay nothing: no scan, no loop, and no second look at the
 *    table once the only entry is gone, which is worth more than the two
 *    counters they add to.  That their runs are of one is asserted with law 2; what they
 *    cost is for benches to tell (zap, lazyfree and swapout of 4 KiB).
 *
 * 10. Switched off, all that remains of what unmaps is one static branch per entry
 *     point, and the stock code behind it.  Readers go on looking for tables that were
 *     given back (law 8).  Holds by construction, where unmap.h, evict.c and shadows.c ask
 *     for the switch; an assertion could not tell, because the switch may be flipped at any
 *     time.  Tested by control -t off: with the switch off nothing is counted.
 *
 * 11. No surprise.  What a later fault gets is what it would have got from a page table
 *     that had stayed, unless somebody asked for another policy, or one MADV_DONTNEED
 *     took all that the table mapped.  unmap_pmd_unhook() asserts that the mark is none.
 */
#ifndef __MM_UNMAP_INTERNAL_H
#define __MM_UNMAP_INTERNAL_H

#include <linux/mm.h>
#include <linux/rmap.h>
#include <linux/unmap.h>

#include "../internal.h"
#include "compat.h"

/**
 * struct pte_run - a run of page-table entries
 * @ptep: the first entry; its table is mapped, and locked by the caller
 * @addr: the user address it translates
 * @nr: how many entries, at least one
 * @pte: the first entry's value; after unmap_run_clear() with the accessed
 *	and dirty bits of all entries gathered in it
 * @page: the page the first entry maps
 * @noted: its TLB flush was only noted, not made
 *
 * An entry that is not present but maps a page all the same (device
 * exclusive) is always a run of one.
 */
struct pte_run {
	pte_t *ptep;
	unsigned long addr;
	unsigned int nr;
	pte_t pte;
	struct page *page;
	bool noted;
};

/**
 * struct unmap_op - one folio being unmapped from one VMA
 * @folio: locked and referenced by the caller of try_to_unmap()
 * @vma: its rmap lock (anon_vma or i_mmap) is held for read
 * @flags: as handed to try_to_unmap()
 * @run: the run at hand
 */
struct unmap_op {
	struct folio *folio;
	struct vm_area_struct *vma;
	enum ttu_flags flags;
	struct pte_run run;
};

/* flush.c: with the page-table lock held. */
void unmap_run_clear(struct unmap_op *op);

/*
 * evict_*.c: a cleared run becomes its leftover.  Page-table lock held.
 * False: the run was put back, the walk must stop.
 */
bool unmap_evict_file(struct unmap_op *op);
bool unmap_evict_lazyfree(struct unmap_op *op);
bool unmap_evict_swap(struct unmap_op *op);
bool unmap_evict_poison(struct unmap_op *op);

/* swap_refs.c: the folio of the entries is in the swap cache, and locked. */
#ifdef CONFIG_SWAP
bool unmap_swap_take_run(swp_entry_t entry, unsigned int nr);
#else
static inline bool unmap_swap_take_run(swp_entry_t entry, unsigned int nr)
{
	return false;
}
#endif

/* evict_hugetlb.c: called by the rmap walk. */
#ifdef CONFIG_HUGETLB_PAGE
bool unmap_hugetlb_from_vma(struct folio *folio, struct vm_area_struct *vma,
			    unsigned long address, void *arg);
#else
static inline bool unmap_hugetlb_from_vma(struct folio *folio,
					  struct vm_area_struct *vma,
					  unsigned long address, void *arg)
{
	return false;
}
#endif

/* control.c */
extern unsigned int unmap_max_run;

/* stat.c: counts since boot, for /sys/kernel/mm/unmap/stat. */
enum unmap_stat_item {
	UNMAP_STAT_EVICT_MORE,	/* entries beyond each run's first */
	UNMAP_STAT_PUT_BACK_RUNS,
	UNMAP_STAT_PUT_BACK_ENTRIES,
	UNMAP_STAT_FLUSHES,
	UNMAP_STAT_FLUSHES_DEFERRED,
	UNMAP_STAT_DISCARD_RUNS,
	UNMAP_STAT_DISCARD_ENTRIES,
	UNMAP_STAT_TABLES_NOTICED,
	UNMAP_STAT_TABLES_FREED,
	UNMAP_STAT_TABLES_KEPT,
	NR_UNMAP_STATS,
};

#define UNMAP_RUN_ORDERS	(const_ilog2(MAX_PTRS_PER_PTE) + 1)

struct unmap_stats {
	unsigned long item[NR_UNMAP_STATS];
	unsigned long run_order[UNMAP_RUN_ORDERS];
};

DECLARE_PER_CPU(struct unmap_stats, unmap_stats);

static inline void unmap_count(enum unmap_stat_item item, unsigned long nr)
{
	this_cpu_add(unmap_stats.item[item], nr);
}

/* A run was evicted: count it in the histogram of run lengths. */
static inline void unmap_count_run(unsigned int nr)
{
	if (nr == 1) {
		this_cpu_inc(unmap_stats.run_order[0]);
		return;
	}
	unmap_count(UNMAP_STAT_EVICT_MORE, nr - 1);
	this_cpu_inc(unmap_stats.run_order[ilog2(nr)]);
}

int unmap_stat_show(char *buf);

/* disturb.c, for tests: waits, if they ask for it, where others could come in between. */
#ifdef CONFIG_UNMAP_DISTURB
void unmap_window(void);
#else
static inline void unmap_window(void)
{
}
#endif

#endif /* __MM_UNMAP_INTERNAL_H */
