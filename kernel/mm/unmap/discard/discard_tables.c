// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discarding a stretch of memory, page table by page table, and giving back the
 * page tables that become empty.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/unmap.h>

#include <asm/tlb.h>

#include "discard.h"
#include "../tables/policy.h"

/* For stretches of so many pages at most nothing is set up that only an empty table needs. */
#define FEW	16

struct zap_details unmap_zap_dontneed = {
	COMPAT_ZAP_ALL,
	.zap_flags = UNMAP_ZAP_MADVISE,
};

/* MADV_DONTNEED holds the mmap lock, or only the VMA's lock: both exclude free_pgtables(). */
static void discard_assert_madvise_locked(const struct discard *d)
{
	if (COMPAT_MADVISE_LOCKS_MMAP)
		lockdep_assert_held(&d->tlb->mm->mmap_lock);
	else if (!rwsem_is_locked(&d->tlb->mm->mmap_lock))
		vma_assert_locked(d->vma);
}

/* Law 7: whether the caller is known to hold the mmap lock. */
static bool discard_holds_mmap_lock(const struct discard *d)
{
	return d->tables_wanted == WANT_EDGES ||
	       (d->tables_wanted == WANT_ALL_TABLES && COMPAT_MADVISE_LOCKS_MMAP);
}

static bool discard_may_want_tables(const struct discard *d)
{
	return d->details && unmap_tables_enabled() && !d->tlb->fullmm;
}

/*
 * Which page tables may be noted.  The flags in @details say that the caller holds a
 * lock which excludes free_pgtables(); callers without a flag may hold none (BPF's arena).
 * When the whole address space goes, free_pgtables() frees all page tables later.  So it
 * does after munmap(), except those at both ends, which neighbouring VMAs may share.  Nobody
 * unmaps a part of another process, but fork() that fails unmaps all that it has copied to
 * the child (Linux 7.3).
 */
static enum discard_tables_wanted discard_wanted_tables(const struct discard *d)
{
	if (!discard_may_want_tables(d))
		return WANT_NO_TABLES;
	if (discard_zap_flag(d->details, UNMAP_ZAP_MADVISE)) {
		discard_assert_madvise_locked(d);
		return WANT_ALL_TABLES;
	}
	if (discard_zap_flag(d->details, ZAP_FLAG_UNMAP)) {
		if (d->tlb->mm != current->mm)
			return WANT_NO_TABLES;
		lockdep_assert_held(&d->tlb->mm->mmap_lock);
		return WANT_EDGES;
	}
	if (!discard_zap_flag(d->details, UNMAP_ZAP_RMAP_LOCKED))
		return WANT_NO_TABLES;
	i_mmap_assert_locked(d->vma->vm_file->f_mapping);
	return WANT_CLEARED;
}

/*
 * Whether the page table may be noted.  Page tables that have no VMA left after munmap() are
 * free_pgtables()'s to free, too.  A hole punch or truncation gives back no table in which it
 * has cleared nothing: a process could otherwise free another's new table again and again,
 * before that one's fault has filled it.
 */
static bool discard_may_note(const struct discard *d, unsigned long addr)
{
	unsigned long base = addr & PMD_MASK;

	if (d->tables_wanted == WANT_CLEARED)
		return d->entries || d->others;
	return d->tables_wanted != WANT_EDGES ||
	       find_vma_intersection(d->tlb->mm, base, base + PMD_SIZE);
}

/**
 * discard_note_table - note an empty page table, to be given back
 * @d: the pass that has just emptied it
 * @pmd: the table's PMD entry
 * @addr: an address the table translates
 *
 * The page-table lock is held, and for munmap() the mmap lock.
 */
void discard_note_table(struct discard *d, pmd_t *pmd, unsigned long addr)
{
	if (!discard_may_note(d, addr))
		return;
	unmap_batch_note(d->tables, pmd, addr);
	if (discard_takes_all(d, addr, d->end))
		unmap_batch_note_whole(d->tables, addr);
}

/**
 * discard_lets_wait - let an empty page table wait, if the policy says so
 * @d: the pass that has just emptied it
 * @table: all of its entries were seen none since its lock was taken
 * @addr: an address the table translates
 *
 * Not a table that stock frees, too (law 11).  Locks as above.  Return: whether it waits.
 */
bool discard_lets_wait(struct discard *d, pte_t *table, unsigned long addr)
{
	struct mm_struct *mm = d->tlb->mm;

	if (!IS_ENABLED(CONFIG_UNMAP_TABLES) || discard_takes_all(d, addr, d->end) ||
	    !discard_may_note(d, addr) || !unmap_policy_waits(mm, addr))
		return false;
	return unmap_table_wait(mm, table, addr);
}

/**
 * discard_give_back - unhook an empty page table at once, if that can be done
 * @d: the pass that has just emptied it: see discard_is_last()
 * @pmd: the table's PMD entry
 * @table: all of its entries were seen none since its lock was taken
 * @addr: an address the table translates
 * @ptl: the table's lock
 *
 * Locks as above.  Return: if true, unmap_table_free() is to be called without the lock.
 */
bool discard_give_back(struct discard *d, pmd_t *pmd, pte_t *table, unsigned long addr,
		       spinlock_t *ptl)
{
	if (!IS_ENABLED(CONFIG_UNMAP_TABLES) ||
	    (d->tables_wanted != WANT_ALL_TABLES && !discard_may_note(d, addr)))
		return false;
	return unmap_table_give_back(d->tables, pmd, table, addr, ptl,
				     discard_takes_all(d, addr, d->end));
}

/*
 * zap_huge_pmd() clears the PMD first and removes the rmap later, under the PMD lock.
 * Truncation of a single folio must not return in between, while the folio still looks
 * mapped: take and drop the lock.
 */
static void discard_wait_for_huge(const struct discard *d, pmd_t *pmd,
				  unsigned long addr, unsigned long next)
{
	const struct zap_details *details = d->details;

	if (details && details->single_folio &&
	    folio_test_pmd_mappable(details->single_folio) &&
	    next - addr == HPAGE_PMD_SIZE)
		spin_unlock(pmd_lock(d->tlb->mm, pmd));
}

/*
 * Discard huge PMDs.  Returns how many are gone.  If only a part of one is discarded, split it:
 * none is gone, and there may be a page table now.
 */
static unsigned int discard_huge(struct discard *d, pmd_t *pmd, unsigned long addr,
				 unsigned long next)
{
	if (next - addr != HPAGE_PMD_SIZE) {
		compat_split_huge_pmd(d->vma, pmd, addr);
		return 0;
	}
	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) && discard_huge_is_written_back(d))
		return discard_huge_written(d, pmd, addr);
	return zap_huge_pmd(d->tlb, d->vma, pmd, addr);
}

/*
 * Discard huge PMDs, from *@pmd on, which translates @addr to *@next.  Returns whether there is a
 * page table to pass over; if not, *@pmd and *@next are moved to the last PMD that is done.  Others
 * may free the table between both reads of the PMD, and leave a mark.
 */
static bool discard_has_table(struct discard *d, pmd_t **pmd, unsigned long addr,
			      unsigned long *next)
{
	pmd_t pmdval = pmdp_get_lockless(*pmd);
	unsigned int gone;

	if (pmd_is_huge(pmdval)) {
		gone = discard_huge(d, *pmd, addr, *next);
		if (gone) {
			*pmd += gone - 1;
			*next += (gone - 1) * PMD_SIZE;
			return false;
		}
	} else if (pmd_none(pmdval)) {
		discard_wait_for_huge(d, *pmd, addr, *next);
	}
	if (!pmd_none(pmdp_get_lockless(*pmd)))
		return true;
	if (discard_takes_all(d, addr, *next))
		unmap_pmd_forget(d->tlb->mm, *pmd);
	return false;
}

/*
 * Take the lock of a page table.  What reclaim has cleared there may still be in a TLB.  Returns
 * null if the PMD holds no table.
 */
static pte_t *discard_lock(struct discard *d, pmd_t *pmd, unsigned long addr, spinlock_t **ptlp)
{
	pte_t *start;

	tlb_change_page_size(d->tlb, PAGE_SIZE);
	start = pte_offset_map_lock(d->tlb->mm, pmd, addr, ptlp);
	if (start)
		flush_tlb_batched_pending(d->tlb->mm);
	return start;
}

/*
 * Discard a stretch of one page table.  Returns where it stopped: see discard_range(); @addr if the
 * table has gone.
 */
static unsigned long discard_table(struct discard *d, struct table_batch *batch,
				   pmd_t *pmd, unsigned long addr,
				   unsigned long next)
{
	spinlock_t *ptl;	/* the table's */
	pte_t *start;

	d->tables = NULL;
	if (d->tables_wanted != WANT_NO_TABLES &&
	    (d->tables_wanted != WANT_EDGES || next - addr < PMD_SIZE)) {
		unmap_batch_make_room(batch, addr);
		d->tables = batch;
	}
	start = discard_lock(d, pmd, addr, &ptl);
	if (!start)
		return addr;
	discard_begin(d, addr, next);
	return discard_range(d, pmd, start, ptl);
}

static void discard_begin_batch(struct discard *d, struct table_batch *batch)
{
	unmap_batch_begin(batch, d->vma, d->tlb);
	d->tables_wanted = discard_wanted_tables(d);
	batch->mmap_locked = discard_holds_mmap_lock(d);
}

/**
 * discard_ask - may the page table of a short stretch be noted?
 * @d: of discard_few(); its batch begins here
 *
 * The page-table lock is held.
 */
bool discard_ask(struct discard *d)
{
	discard_begin_batch(d, d->tables);
	return d->tables_wanted != WANT_NO_TABLES;
}

static bool discard_is_few(unsigned long addr, unsigned long end)
{
	return end - addr <= FEW * PAGE_SIZE && !((addr ^ (end - 1)) & PMD_MASK);
}

/* Whether @nr entries are none.  Page-table lock held. */
static __always_inline bool discard_all_none(pte_t *ptep, unsigned int nr)
{
	pte_t *end = ptep + nr;

	while (ptep + 4 <= end && unmap_arch_all_none(ptep, 4))
		ptep += 4;
	while (ptep < end && pte_none(unmap_arch_peek(ptep)))
		ptep++;
	return ptep == end;
}

/* There is no reason to look at the table of a stretch that was found empty.  Locks as above. */
static __always_inline bool discard_leaves_table(const struct discard *d, pte_t *table)
{
	return !d->tables || likely(unmap_table_watched_used(table)) ||
	       unmap_table_waits(d->tlb->mm, virt_to_ptdesc(table)) || unmap_table_stays(table);
}

/*
 * Discard a few pages in one page table, or find none.  Who purges memory in small pieces pays for
 * each call.  Returns where it stopped, as discard_table() does.
 */
static unsigned long discard_few(struct discard *d, struct table_batch *batch, pmd_t *pmd,
				 unsigned long addr, unsigned long end)
{
	spinlock_t *ptl;	/* the table's */
	pte_t *start;

	if (IS_ENABLED(CONFIG_LOCKDEP))
		discard_wanted_tables(d);	/* asserts the caller's locks */
	if (pmd_none(pmdp_get_lockless(pmd)))
		return end;
	start = discard_lock(d, pmd, addr, &ptl);
	if (!start)
		return addr;
	d->tables = discard_may_want_tables(d) ? batch : NULL;
	if (discard_all_none(start, (end - addr) >> PAGE_SHIFT) &&
	    discard_leaves_table(d, unmap_table_of(start))) {
		pte_unmap_unlock(start, ptl);
		return end;
	}
	discard_begin(d, addr, end);
	return discard_range(d, pmd, start, ptl);
}

/**
 * unmap_zap_pmd_range - discard what a stretch of memory maps, below one PUD
 * @tlb: gathers pages to free and addresses to flush
 * @vma: contains the stretch
 * @pud: the stretch's PUD entry
 * @addr: the stretch's first address
 * @end: its end, below the same PUD
 * @details: which pages must stay; NULL: none
 *
 * The caller holds the mmap lock, the VMA lock, or the file's rmap lock.  Empty page
 * tables are given back if @details says that it is the mmap lock or the rmap lock, or, in
 * MADV_DONTNEED since Linux 6.18, the VMA lock.  Takes PMD locks and page-table locks.  TLBs may
 * hold translations until the mmu_gather is flushed; until then it keeps the pages, unless
 * the architecture frees them at once (s390).
 *
 * Return: @end.
 */
unsigned long unmap_zap_pmd_range(struct mmu_gather *tlb,
				  struct vm_area_struct *vma, pud_t *pud,
				  unsigned long addr, unsigned long end,
				  struct zap_details *details)
{
	struct discard d __uninitialized;
	struct table_batch batch __uninitialized;
	pmd_t *pmd = pmd_offset(pud, addr);
	unsigned long next;

	d.tlb = tlb;
	d.vma = vma;
	d.details = details;
	d.start = addr;
	d.limit = end;
	d.tables_wanted = WANT_LATER;
	d.gathered = 0;
	if (discard_is_few(addr, end)) {
		addr = discard_few(&d, &batch, pmd, addr, end);
		cond_resched();
	}
	if (addr != end && d.tables_wanted == WANT_LATER)
		discard_begin_batch(&d, &batch);
	while (addr != end) {
		next = pmd_addr_end(addr, end);
		if (discard_has_table(&d, &pmd, addr, &next))
			addr = discard_table(&d, &batch, pmd, addr, next);
		else
			addr = next;
		if (addr == next)
			pmd++;
		cond_resched();
	}
	if (d.tables_wanted != WANT_LATER)
		unmap_batch_settle(&batch);
	return addr;
}
