/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How Linux 6.12 and 7.3 differ in page-table entries and in page descriptors.  The code is
 * written for the newest kernel.  For 6.12, define what it uses of 7.3 by its name there; drop that
 * when 6.12 goes.  compat_... are functions of which neither kernel has the form that is needed.
 */
#ifndef __MM_UNMAP_COMPAT_H
#define __MM_UNMAP_COMPAT_H

#include <linux/huge_mm.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swapops.h>
#include <linux/unmap_compat.h>

#include "../internal.h"
#include "arch.h"

#if UNMAP_ON_6_12
/* Entries that are not present: 7.3 calls them leaves. */
typedef swp_entry_t softleaf_t;

/* The latest 6.12.y have these two. */
#ifndef softleaf_from_pte
#define softleaf_from_pte		pte_to_swp_entry
#define softleaf_to_pfn			swp_offset_pfn
#endif

#define softleaf_is_device_private	is_device_private_entry
#define softleaf_is_device_exclusive	is_device_exclusive_entry
#define softleaf_is_migration		is_migration_entry
#define softleaf_is_hwpoison		is_hwpoison_entry
#define softleaf_is_uffd_wp_marker	pte_marker_entry_uffd_wp
#define softleaf_is_poison_marker	is_poisoned_swp_entry
#define softleaf_to_page		pfn_swap_entry_to_page
#define softleaf_to_folio		pfn_swap_entry_folio

static inline bool softleaf_is_swap(softleaf_t entry)
{
	return !non_swap_entry(entry);
}

/* Guard regions came after 6.12. */
static inline bool softleaf_is_guard_marker(softleaf_t entry)
{
	return false;
}

/* userfaultfd's bit: in 7.3 it may also mean read-write protection (RWP). */
#define pte_uffd		pte_uffd_wp
#define pte_mkuffd		pte_mkuffd_wp
#define pte_clear_uffd		pte_clear_uffd_wp
#define pte_swp_uffd		pte_swp_uffd_wp
#define pte_swp_mkuffd		pte_swp_mkuffd_wp
#define pte_swp_uffd_any	pte_swp_uffd_wp_any

/* 7.3 has a function for several entries, and returns whether it wrote markers. */
static inline void cond_install_uffd_wp_ptes(struct vm_area_struct *vma,
					     unsigned long addr, pte_t *ptep,
					     pte_t pte, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		pte_install_uffd_wp_if_needed(vma, addr + i * PAGE_SIZE, ptep + i, pte);
}

/* Renamed in 7.3. */
#define FOLIO_MAPPING_ANON	PAGE_MAPPING_ANON
#define make_device_exclusive_entry	make_readable_device_exclusive_entry
#define PGTABLE_LEVEL_PTE	RMAP_LEVEL_PTE
#define lazy_mmu_mode_enable	arch_enter_lazy_mmu_mode
#define lazy_mmu_mode_disable	arch_leave_lazy_mmu_mode

/* For work that may run on any CPU.  7.3 warns of the old name. */
#define system_dfl_wq	system_unbound_wq

/* A huge page, or an entry of a huge page that is not present. */
static inline bool pmd_is_huge(pmd_t pmd)
{
	return is_swap_pmd(pmd) || pmd_trans_huge(pmd) || pmd_devmap(pmd);
}
#endif /* UNMAP_ON_6_12 */

/* PageAnonExclusive() without its check for hugetlb pages, which do not come in runs. */
static inline bool compat_anon_exclusive(const struct page *page)
{
#if UNMAP_ON_6_12
	return test_bit(PG_anon_exclusive, &page->flags);
#else
	return test_bit(PG_anon_exclusive, &page->flags.f);
#endif
}

/* The caller holds the PMD lock in the first function.  7.3 needs no folio. */
static inline void compat_split_huge_pmd_locked(struct vm_area_struct *vma,
						unsigned long addr, pmd_t *pmd,
						struct folio *folio)
{
#if UNMAP_ON_6_12
	split_huge_pmd_locked(vma, addr, pmd, false, folio);
#else
	split_huge_pmd_locked(vma, addr, pmd, false);
#endif
}

static inline void compat_split_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd,
					 unsigned long addr)
{
#if UNMAP_ON_6_12
	__split_huge_pmd(vma, pmd, addr, false, NULL);
#else
	__split_huge_pmd(vma, pmd, addr, false);
#endif
}

/* Clear entries that are not present.  7.3 does not say whether the whole mm goes. */
static inline void compat_clear_nonpresent(struct mm_struct *mm, unsigned long addr,
					   pte_t *ptep, unsigned int nr, int full)
{
#if UNMAP_ON_6_12
	clear_not_present_full_ptes(mm, addr, ptep, nr, full);
#else
	clear_nonpresent_ptes(mm, addr, ptep, nr);
#endif
}

/*
 * Whether a device entry is in rmap.  In 6.12 a device-exclusive one is not: making it removes
 * the rmap.
 */
static inline bool compat_device_in_rmap(softleaf_t entry)
{
	return !UNMAP_ON_6_12 || softleaf_is_device_private(entry);
}

/*
 * What arm64 defers of a flush is to wait for it: the invalidation is sent when the flush is
 * recorded.  Linux 7.3 sends a range then, 6.12 a page for each call.
 *
 * Send what can be sent as a range for the pages from @start to @end, whose entries were like
 * @pte.  Returns the first page that is still to be recorded, so that somebody waits: on arm64
 * the last one.  A processor with range operations (FEAT_TLBIRANGE) gets that page in the
 * range, too, because an even number of pages takes fewer operations than an odd one.  As for
 * single pages, only entries of the last level are invalidated.
 */
static inline unsigned long compat_send_range(struct vm_area_struct *vma, pte_t pte,
					      unsigned long start, unsigned long end)
{
#if UNMAP_ON_6_12 && defined(CONFIG_ARM64)
	unsigned long last = end - PAGE_SIZE;

	if (start < last && pte_accessible(vma->vm_mm, pte))
		__flush_tlb_range_nosync(vma, start, system_supports_tlb_range() ? end : last,
					 PAGE_SIZE, true, 3);
	return last;
#else
	return start;
#endif
}

/* Record a deferred flush. */
static inline void compat_note_flush(struct vm_area_struct *vma, pte_t pte,
				     unsigned long start, unsigned long end)
{
#if UNMAP_ON_6_12
	/*
	 * x86 records the whole mm whatever the address, so one call is enough for a run;
	 * others flush the address, so every page needs a call that was not sent in a range.
	 */
	start = compat_send_range(vma, pte, start, end);
	do {
		set_tlb_ubc_flush_pending(vma->vm_mm, pte, start);
		start += PAGE_SIZE;
	} while (!UNMAP_ARCH_ONE_FLUSH && start < end);
#else
	set_tlb_ubc_flush_pending(vma->vm_mm, pte, start, end);
#endif
}

#endif /* __MM_UNMAP_COMPAT_H */
