/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Vocabulary and laws of mm/unmap/.
 *
 * A RUN is a stretch of consecutive entries in one page table that map
 * consecutive pages of one folio and agree in every bit that must survive.
 * To EVICT is to unmap for reclaim: the page may come back.  To DISCARD is to
 * unmap because the range goes away: write permission and soft-dirty do not
 * matter any more, so the entries of such a run may differ in them.  To RELOCATE
 * is to put migration entries in place of a run, and, when the pages have moved
 * or were split, to put entries back.  A LEFTOVER
 * is what an entry holds after its page was unmapped: nothing, a userfaultfd
 * marker, a swap entry, or a poison entry.
 */

/**
 * DOC: laws
 *
 * 1. Order.  Clear the entries; invalidate the TLB or record the deferred
 *    flush; only then remove rmap, then drop references.  A page must not be
 *    written out or freed while a TLB still translates to it: reclaim makes
 *    the deferred flush before it does either.  Writeback, which others begin, does
 *    not: a written page of a file is flushed before it counts as unmapped, by
 *    reclaim (evict_file() asserts it) and where a huge page is discarded.
 *    unmap_run_clear() does the first two steps together; unmap_run_retire() asserts
 *    that the entries are gone.  Discarded pages wait in the mmu_gather for its
 *    flush: discard_note_cleared() asserts that the entries are gone and that the
 *    mmu_gather has recorded them, before rmap and references are dropped.
 *    That reclaim flushes in time is tested by lazyfree -t flushed and
 *    swap -t stamped, and by scenes (evict_kept, discard_huge).
 *
 * 2. Bounds.  A run never leaves its page table, its VMA or its folio.
 *    Asserted in run_assert_bounds(); for discarded runs in discard_present()
 *    (table and VMA) and in discard_drop_rmap() (folio), or when a delayed
 *    rmap is removed.
 *
 * 3. Put back exactly.  A run that cannot be unmapped gets its entries back:
 *    none gains write permission, none gains or loses soft-dirty or
 *    userfaultfd write-protection.  Accessed and dirty may be gained, never
 *    lost.  This is why the entries of a run agree in all bits but those two.
 *    unmap_run_put_back() asserts that nobody filled the entries meanwhile.
 *
 * 4. Account as you go.  What was unmapped before a failure is fully
 *    accounted (rss, rmap, references) before the failure is returned.
 *    Holds by construction: unmap_run_retire() does all of it for one run,
 *    and no run starts before the last one was retired or put back.  When
 *    discarding, discard_settle_accounts() accounts for all runs before the
 *    page-table lock is dropped; if no entry was cleared, it asserts that
 *    nothing is owed.  Tested by accounting, by discard -t statistics, and by
 *    each process that exits: its rss counters must be zero then.
 *
 * 5. Lazyfree.  Clear; smp_mb(); read the reference count; smp_rmb(); read
 *    dirty.  An unexpected reference is not "dirty": the folio stays lazyfree
 *    and can be dropped later.  A dirtied folio becomes swap-backed again and
 *    is never lost.  See evict_lazyfree.c: unmap_lazyfree_judge() asserts that
 *    the entries are gone.  The order of its reads cannot be asserted: others may
 *    change the reference count and the dirty flag at any time.  Tested by
 *    lazyfree -t raced, putback -t extra_reference, memx.
 *
 * 6. Anonymous-exclusive is per page.  Where swap entries are left behind, the
 *    pages of a run agree in it, and the swap entries record what the pages
 *    had.  A folio that may be pinned stays.  Asserted in unmap_swap_leave().
 *
 * 7. Tables.  A page table is unhooked only with the mmap lock (for reading at
 *    least), the PMD lock and its own lock held, after all of its entries were
 *    seen none since its own lock was taken, and once no page counts as mapped
 *    through it: who looks for a mapping waits for the table's lock as long as the
 *    PMD leads there, and would otherwise miss a page to which a stale TLB entry
 *    still writes.  Page-walk caches are flushed before the PMD lock is dropped; the
 *    table is freed after an RCU grace period, and no IPI broadcast is sent just to
 *    be sure that nobody walks it.  A pass that covers the whole table without
 *    dropping its lock has seen the entries none that it has cleared.  See table.c,
 *    table_batch.c; batch_lock_mmap(), batch_unhook_one() and unmap_table_give_back() assert the
 *    locks, discard_tables.c asserts that a caller holds the lock it says it holds,
 *    table_unhook() and unmap_table_give_back() that the entries are none, and
 *    unmap_table_assert_unmapped() that no rmap removal is owed.
 *    Exception: a table that one MADV_DONTNEED empties entirely needs no mmap
 *    lock on x86 with PT_RECLAIM (since 6.18), because it lies wholly in the
 *    VMA that is locked.  As in stock code, an mmu_gather flushes it, after it
 *    was unhooked, and frees it.  See table_gather.c.
 *
 * 8. Readers.  Code that maps a table without its lock either reads the PMD
 *    again after taking the lock, or recognises the table by an entry that was
 *    in use.  See table_readers.c; table_free_rcu() asserts that nothing was
 *    put into a table that is gone (an mmu_gather cannot).  hugetlb of arm64 does
 *    neither: the tables that it has found entries in stay.  See table_stays.c.
 *
 * 9. Order-0 folios pay nothing: no scan, no loop, and no second search of the
 *    table once its only entry is gone.  The last saves more than the two
 *    counters cost that order-0 folios add to.  evict_step() has a way of its
 *    own for them, inline and compiled with a length of 1.  That the entry
 *    maps the folio's only page is asserted in evict_assert_one_page();
 *    benchmarks measure what they cost (zap, lazyfree and swapout of 4 KiB).  With
 *    CONFIG_TRACEPOINTS, which the bench flavor does not have, each evicted run executes
 *    one nop more (unmap:run).
 *
 * 10. Switched off, all that unmapping pays is one static branch per entry
 *     point, before the stock code.  Readers still check for tables that were
 *     given back (law 8).  Holds by construction, where unmap.h, evict.c,
 *     ahead_list.c and shadows.c test the switch; it cannot be asserted, because the switch may
 *     be flipped at any time.  Tested by control -t off: with the switch off
 *     nothing is counted.
 *
 * 11. No surprise.  A later fault gets what stock of the same kernel would give: as
 *     had the page table stayed; or, where stock frees it, too (since 6.18: one
 *     MADV_DONTNEED discards all that the table maps), perhaps a huge page.  Or else
 *     the administrator chose another policy.  unmap_pmd_unhook() asserts that
 *     pmd_none() is true of the mark that it leaves.
 *
 * 12. References.  Reclaim learns from the accessed bits of a run what it would
 *     learn entry by entry: stock's functions age each young entry, in the order
 *     of the addresses.  Old entries, for which those functions do nothing, are
 *     skipped; unless the mm has MMU notifiers, which are asked page by page.
 *     reference_assert_run() asserts the run's bounds.  Tested by KUnit and by
 *     reference.
 *
 * 13. Freed together, accounted together.  The sizes of LRU lists lag behind the lists only
 *    while the lock of their lruvec is held: who takes it reads exact sizes.
 *    assert_in_stretch() in freeing.c asserts that the lock is the right one, that nobody
 *    else can use the folio, and that it is on the list that loses it.  Tested by freeing.
 *
 * 14. Ahead.  What reclaim has not come to yet is unmapped ahead only if the entry is shown by
 *     PFN to map the folio, with the folio's lock (which is only tried) and the page-table lock
 *     held; only if the entry is flushed before the folio lock is dropped, or, of lazyfree memory,
 *     whose faults do not wait for that, the page-table lock: nobody reads or writes an old page
 *     through a stale TLB entry while others have a new one; and only if nothing
 *     referenced it, where references count, judged and cleared under one hold of the
 *     page-table lock.  At most 32 folios are locked at a time, and while a swap entry is
 *     allocated two: the first, and the one that gets it.  See ahead.c, ahead_judge.c,
 *     ahead_swap.c and ahead_list.c: ahead_leave() asserts the PFN and that the folio is mapped
 *     once, ahead_clear() the bounds, unmap_ahead_end() that no flush is due.  Tested by
 *     ahead.
 *
 * 15. Dropped.  A full page table goes only if a minor fault can have back each of its entries
 *     as it was: all of its VMAs map a file whose pages faults map around, and each entry is none
 *     or maps page cache; nobody tracks the entries (mlock, userfaultfd, soft-dirty, MMU
 *     notifiers).  Its process is idle, or has not used it lately (drop_age.c), and can exit
 *     while the task that drops does not run.  Judged and
 *     cleared under one hold of the page-table lock; the lock is held until the TLB is flushed
 *     and nothing counts as mapped through the table, which is still in its PMD until then.  See
 *     drop_table.c: unmap_table_give_back() asserts that the table is empty, drop_table() the
 *     mmap lock.  Tested by drop.
 *
 * 16. Relocated.  What is moved to another place in memory, or split, is locked from its first
 *     migration entry to its last, and all of its migration entries are taken out before it is
 *     unlocked: by a walk of its rmap, which takes each page-table lock.  The entries of a run
 *     agree in all that they record, but: accessed and dirty may be gained, accessed by fewer
 *     than 32 pages beside one that has it, dirty not by read-only entries of files, because
 *     mprotect() takes it as a sign that the file system knows.  No folio counts as partially
 *     mapped because it moves: what is missing is looked for once its entries are back.  (One
 *     that a PMD maps, and entries of another process, may.)  After a split, up to 64 pages come
 *     back in one walk; which of them are full of zeroes is known before, because nobody can write
 *     to them.  Up to 32 single pages that are neighbours go in one walk, and come back in one:
 *     those are ahead of the loop that migrates.  Each of them is locked, and keeps its anon_vma
 *     and the reference of its entry until the loop comes to it, or ends.  See relocate.c:
 *     relocate() asserts the lock, relocate_assert_left() what the entries refer to and law 6,
 *     relocate_back.c: back_assert() and relocate_split.c: split_assert() the same on the way
 *     back, relocate_batch.c: batch_may_go() and __unmap_migration_take() what is ahead.  Tested
 *     by relocate, split and together, and by scenes (moved_...).
 *
 * 17. Waiting.  A page table that seems empty may wait, in a list through its own descriptor.
 *     It leaves the list before the descriptor's words are used for anything else: who takes it out
 *     of its PMD calls unmap_table_leave() before it is freed, handed to RCU or deposited.  Who
 *     picks it from the list reaches it through its PMD only, with the mmap lock, once the list's
 *     lock is dropped.  See tables_wait.c: unmap_table_assert_left() asserts it where mm/unmap
 *     frees tables, and the page allocator, which takes a mapping that is left for a bad page.
 *     Tested by waits.
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
 * @pte: the first entry's value, which may lack accessed and dirty (unmap_arch_peek());
 *	unmap_run_clear() adds those two of all entries
 * @page: the page the first entry maps
 * @deferred: its TLB flush was recorded for later, not made
 *
 * A device-exclusive entry is not present but maps a page: it is always a run
 * of one.
 */
struct pte_run {
	pte_t *ptep;
	unsigned long addr;
	unsigned int nr;
	pte_t pte;
	struct page *page;
	bool deferred;
};

/**
 * struct unmap_op - one folio being unmapped from one VMA
 * @folio: locked and referenced by the caller of try_to_unmap()
 * @vma: its rmap lock (anon_vma or i_mmap) is held for read
 * @flags: as passed to try_to_unmap()
 * @mlocked: entries passed because the VMA is mlocked
 * @run: the run being unmapped
 */
struct unmap_op {
	struct folio *folio;
	struct vm_area_struct *vma;
	enum ttu_flags flags;
	unsigned int mlocked;
	struct pte_run run;
};

/* Set up @op, but for its run: to zero that costs measurably (law 9). */
static inline void unmap_op_begin(struct unmap_op *op, struct folio *folio,
				  struct vm_area_struct *vma, enum ttu_flags flags)
{
	op->folio = folio;
	op->vma = vma;
	op->flags = flags;
	op->mlocked = 0;
}

/* What kind of run was evicted: for unmap:run. */
enum unmap_kind {
	UNMAP_KIND_FILE,
	UNMAP_KIND_LAZYFREE,
	UNMAP_KIND_SWAP,
	UNMAP_KIND_POISON,
	UNMAP_KIND_UNUSED,		/* a KVM guest does not need it (s390) */
	UNMAP_KIND_HUGETLB,
	UNMAP_KIND_RELOCATE,
};

/* Why a run was put back: for unmap:put_back. */
enum unmap_reason {
	UNMAP_GOES,			/* it is not put back */
	UNMAP_STAYS_REDIRTIED,		/* lazyfree: written after MADV_FREE */
	UNMAP_STAYS_REFERENCED,		/* lazyfree: an unexpected reference */
	UNMAP_STAYS_PINNED,		/* swap: the folio may be pinned */
	UNMAP_STAYS_NO_SWAP,		/* swap: the folio is not in the swap cache */
	UNMAP_STAYS_SWAP_COUNT,		/* swap: no memory for a count that is full */
	UNMAP_STAYS_ARCH,		/* swap: arch_unmap_one() refused */
};

/*
 * How long not to try again what has just failed (1, 3, 7, 15... turns, up to @longest), or not
 * (0).  @last: how long it was not tried before.
 */
static inline unsigned char unmap_pause_after(bool failed, unsigned char last,
					      unsigned char longest)
{
	return failed ? min(2 * last + 1, longest) : 0;
}

/* What a folio is charged to (a memcg or an obj_cgroup), only to be compared. */
static inline unsigned long unmap_charge(const struct folio *folio)
{
#ifdef CONFIG_MEMCG
	return READ_ONCE(folio->memcg_data);
#else
	return 0;
#endif
}

/*
 * folio_mark_dirty(), without the calls where they would do nothing: what is backed by swap is only
 * flagged as dirty, and noop_dirty_folio() does not do it twice.  A dirty folio of a file may still
 * have clean blocks, so call the file system again.
 */
static inline void unmap_mark_dirty(struct folio *folio)
{
	if (!folio_test_swapbacked(folio) || !folio_test_dirty(folio) ||
	    folio_test_reclaim(folio))
		folio_mark_dirty(folio);
}

#endif /* __MM_UNMAP_INTERNAL_H */
