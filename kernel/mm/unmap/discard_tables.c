// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discarding what a stretch of memory maps, table by table, and giving back the
 * tables that this leaves empty.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/unmap.h>

#include <asm/tlb.h>

#include "discard.h"

struct zap_details unmap_zap_dontneed = {
	.even_cows = true,
	.zap_flags = UNMAP_ZAP_MMAP_LOCKED,
};

static bool discard_zap_flag(const struct zap_details *details, zap_flags_t flag)
{
	return details && details->zap_flags & flag;
}

/*
 * Which tables may be noted.  Only callers that are known to hold a lock which keeps
 * free_pgtables() away say so: others may hold none (BPF's arena).  With the whole address space
 * free_pgtables() comes after us, as it does after munmap() for all tables but those at
 * the edges, which neighbours may need.
 */
static enum discard_wanted discard_wanted_tables(const struct discard *d)
{
	if (!d->details || !unmap_tables_enabled() || d->tlb->fullmm)
		return WANT_NO_TABLES;
	if (discard_zap_flag(d->details, UNMAP_ZAP_MMAP_LOCKED)) {
		lockdep_assert_held(&d->tlb->mm->mmap_lock);
		return WANT_ALL_TABLES;
	}
	if (discard_zap_flag(d->details, ZAP_FLAG_UNMAP)) {
		lockdep_assert_held(&d->tlb->mm->mmap_lock);
		return WANT_EDGES;
	}
	if (!discard_zap_flag(d->details, UNMAP_ZAP_RMAP_LOCKED))
		return WANT_NO_TABLES;
	i_mmap_assert_locked(d->vma->vm_file->f_mapping);
	return WANT_CLEARED;
}

/*
 * One MADV_DONTNEED takes all that the PMD at @addr stands for, up to @end: what is touched
 * there next may be huge (law 11).
 */
static bool discard_takes_all(const struct discard *d, unsigned long addr, unsigned long end)
{
	return !(end & ~PMD_MASK) && d->start <= (addr & PMD_MASK) &&
	       discard_zap_flag(d->details, UNMAP_ZAP_MMAP_LOCKED);
}

/**
 * discard_note_table - an empty table is to be given back
 * @d: has just emptied it
 * @pmd: of the table
 * @addr: an address the table translates
 *
 * What munmap() leaves without a VMA is left to free_pgtables(), too.  Whoever discards
 * another's memory, as hole punches do, gives back no table in which he has cleared
 * nothing: he could do so again and again, while somebody tries to fill it.  The
 * page-table lock is held, and the mmap lock with munmap().
 */
void discard_note_table(struct discard *d, pmd_t *pmd, unsigned long addr)
{
	unsigned long base = addr & PMD_MASK;

	if (d->wanted == WANT_CLEARED && !d->entries && !d->others)
		return;
	if (d->wanted == WANT_EDGES &&
	    !find_vma_intersection(d->tlb->mm, base, base + PMD_SIZE))
		return;
	unmap_batch_note(d->tables, pmd, addr);
	if (discard_takes_all(d, addr, d->end))
		unmap_batch_note_whole(d->tables, addr);
}

/*
 * Who removes a huge page's entry may not have removed its rmap yet: for truncation
 * it must not look as if nothing had been mapped.
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

/* True: all of it is gone.  A part of it: it is split, and may have a table now. */
static bool discard_huge(struct discard *d, pmd_t *pmd, unsigned long addr,
			 unsigned long next)
{
	if (next - addr == HPAGE_PMD_SIZE)
		return zap_huge_pmd(d->tlb, d->vma, pmd, addr);
	__split_huge_pmd(d->vma, pmd, addr, false, NULL);
	return false;
}

/* Whether there is a table whose entries are to be looked at. */
static bool discard_has_table(struct discard *d, pmd_t *pmd, unsigned long addr,
			      unsigned long next)
{
	pmd_t pmdval = pmdp_get_lockless(pmd);

	if (is_swap_pmd(pmdval) || pmd_trans_huge(pmdval) || pmd_devmap(pmdval)) {
		if (discard_huge(d, pmd, addr, next))
			return false;
	} else if (pmd_none(pmdval)) {
		discard_wait_for_huge(d, pmd, addr, next);
		if (discard_takes_all(d, addr, next))
			unmap_pmd_forget(d->tlb->mm, pmd);
	}
	return !pmd_none(pmdp_get_lockless(pmd));
}

/* Where it stopped: before @next if others are to run, or the gather was full. */
static unsigned long discard_table(struct discard *d, struct table_batch *batch,
				   pmd_t *pmd, unsigned long addr,
				   unsigned long next)
{
	d->tables = NULL;
	if (d->wanted != WANT_NO_TABLES &&
	    (d->wanted != WANT_EDGES || next - addr < PMD_SIZE)) {
		unmap_batch_make_room(batch, addr);
		d->tables = batch;
	}
	discard_begin(d, addr, next);
	return discard_range(d, pmd);
}

/**
 * unmap_zap_pmd_range - take what a stretch of memory maps out of its page tables
 * @tlb: gathers pages to be freed and addresses to be flushed
 * @vma: contains the stretch
 * @pud: holds the table of the stretch's PMDs
 * @addr: the stretch's first address
 * @end: its end, under the same PUD
 * @details: what is to stay; null: nothing
 *
 * The mmap lock, the VMA's lock, or the rmap lock of the file is held.  Empty tables are
 * given back if @details says that it is the first or the last.  PMD and page-table
 * locks are taken.  TLBs may hold translations until the gather is flushed, and pages
 * wait for that in it where the architecture lets them.
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
	unmap_batch_begin(&batch, vma, tlb);
	d.wanted = discard_wanted_tables(&d);
	batch.mmap_locked = d.wanted != WANT_CLEARED;
	while (addr != end) {
		next = pmd_addr_end(addr, end);
		if (discard_has_table(&d, pmd, addr, next))
			addr = discard_table(&d, &batch, pmd, addr, next);
		else
			addr = next;
		if (addr == next)
			pmd++;
		cond_resched();
	}
	unmap_batch_settle(&batch);
	return addr;
}
