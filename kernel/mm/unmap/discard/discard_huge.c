// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discarding huge pages of files that may be written back (law 1).
 *
 * zap_huge_pmd() removes the rmap of a page to which other CPUs may still write; the mmu_gather
 * flushes later, without a lock.  Writeback that comes in between finds the page unmapped, and
 * takes it for clean.  So the PMDs are cleared and flushed here before the pages count as
 * unmapped, under one hold of the PMD lock, for which writeback waits (PVMW_SYNC).
 */
#include <linux/backing-dev.h>
#include <linux/fs.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>

#include "discard.h"

/* How many PMDs share a flush: few enough that the PMD lock is not held for long. */
#define HUGE_BATCH	32UL

/* Of a driver, or of a device whose memory is mapped itself: stock's vma_is_special_huge(). */
static bool huge_is_special(const struct vm_area_struct *vma)
{
	return vma_is_dax(vma) || vma->vm_flags & (VM_PFNMAP | VM_MIXEDMAP);
}

/**
 * discard_huge_is_written_back - whether writeback may meet a huge page of this pass
 * @d: the pass
 *
 * The PMD does not tell: it may have been writable until a moment ago, and its flush be due.
 * Nobody writes any more when the whole address space goes, so that stock's function does, if it
 * does not forget what was written.  Drivers and DAX have no pages that
 * are written back; powerpc has page tables in store for its huge pages, which stock code knows.
 */
bool discard_huge_is_written_back(const struct discard *d)
{
	struct address_space *mapping;

	if (COMPAT_HUGE_DIRTY && d->tlb->fullmm)
		return false;
	if (!(d->vma->vm_flags & VM_SHARED) || !d->vma->vm_file ||
	    huge_is_special(d->vma) || arch_needs_pgtable_deposit())
		return false;
	mapping = d->vma->vm_file->f_mapping;
	return mapping_can_writeback(mapping) || shmem_mapping(mapping);
}

/* Clear PMDs that map pages, from @pmd on, into @old.  Returns how many. */
static unsigned int huge_clear(const struct discard *d, pmd_t *pmd, unsigned long addr,
			       pmd_t *old)
{
	unsigned long limit = min((d->limit - addr) / HPAGE_PMD_SIZE, HUGE_BATCH);
	unsigned int i;

	for (i = 0; i < limit; i++) {
		if (!pmd_present(pmd[i]) || !pmd_trans_huge(pmd[i]))
			break;
		old[i] = pmdp_huge_get_and_clear(d->tlb->mm, addr + i * HPAGE_PMD_SIZE, pmd + i);
		arch_check_zapped_pmd(d->vma, old[i]);
	}
	return i;
}

/* The PMD was cleared, and flushed. */
static void huge_release(const struct discard *d, pmd_t old)
{
	struct page *page = pmd_page(old);
	struct folio *folio = page_folio(page);

	VM_WARN_ON_ONCE_FOLIO(folio_test_anon(folio), folio);
	if (pmd_dirty(old))
		folio_mark_dirty(folio);
	if (pmd_young(old) && likely(vma_has_recency(d->vma)))
		folio_mark_accessed(folio);
	folio_remove_rmap_pmd(folio, page, d->vma);
	add_mm_counter(d->tlb->mm, mm_counter_file(folio), -HPAGE_PMD_NR);
	folio_put(folio);
}

/* What is no page is under migration: nobody has a translation of it. */
static unsigned int huge_discard_migrating(const struct discard *d, pmd_t *pmd,
					   unsigned long addr)
{
	if (!pmd_is_huge(*pmd))
		return 0;
	compat_split_huge_pmd_locked(d->vma, addr, pmd, NULL, false);
	return pmd_none(*pmd);
}

/**
 * discard_huge_written - discard huge pages that may be written back
 * @d: of a VMA of which discard_huge_is_written_back() is true
 * @pmd: the first PMD; was huge when it was read without its lock
 * @addr: the first address that it translates
 *
 * Takes and drops the PMD lock.
 *
 * Return: how many PMDs are gone; 0 if the first is not huge any more.
 */
unsigned int discard_huge_written(struct discard *d, pmd_t *pmd, unsigned long addr)
{
	spinlock_t *ptl = pmd_lock(d->tlb->mm, pmd);
	pmd_t old[HUGE_BATCH];
	unsigned int i, nr = huge_clear(d, pmd, addr, old);

	if (nr) {
		flush_pmd_tlb_range(d->vma, addr, addr + nr * HPAGE_PMD_SIZE);
		for (i = 0; i < nr; i++)
			huge_release(d, old[i]);
	} else {
		nr = huge_discard_migrating(d, pmd, addr);
	}
	spin_unlock(ptl);
	return nr;
}
