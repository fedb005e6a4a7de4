/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How kernels differ in page-table entries and in page descriptors.  The code is written for the
 * newest kernel.  For older ones, define what it uses by its name there; drop that with the last
 * of them.  compat_... are functions of which no kernel has the form that is needed.
 */
#ifndef __MM_UNMAP_COMPAT_H
#define __MM_UNMAP_COMPAT_H

#include <linux/huge_mm.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/unmap_compat.h>
#include <linux/userfaultfd_k.h>

#include "../internal.h"
#include "arch.h"

/* Entries that are not present. */
#ifndef CONFIG_UNMAP_STOCK_LEAVES
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

#define softleaf_is_migration_write	is_writable_migration_entry
#define softleaf_is_migration_read	is_readable_migration_entry
#define softleaf_is_migration_young	is_migration_entry_young
#define softleaf_is_migration_dirty	is_migration_entry_dirty

static inline bool softleaf_is_swap(softleaf_t entry)
{
	return !non_swap_entry(entry);
}

static inline bool softleaf_is_guard_marker(softleaf_t entry)
{
#ifdef CONFIG_UNMAP_STOCK_GUARDS
	return is_guard_swp_entry(entry);
#else
	return false;
#endif
}

/* A huge page, or an entry of a huge page that is not present. */
static inline bool pmd_is_huge(pmd_t pmd)
{
#ifdef CONFIG_UNMAP_STOCK_PMD_DEVMAP
	if (pmd_devmap(pmd))
		return true;
#endif
	return is_swap_pmd(pmd) || pmd_trans_huge(pmd);
}
#endif /* !CONFIG_UNMAP_STOCK_LEAVES */

/* userfaultfd's bit, and a function for several entries. */
#ifndef CONFIG_UNMAP_STOCK_UFFD_RWP
#define pte_uffd		pte_uffd_wp
#define pte_mkuffd		pte_mkuffd_wp
#define pte_clear_uffd		pte_clear_uffd_wp
#define pte_swp_uffd		pte_swp_uffd_wp
#define pte_swp_mkuffd		pte_swp_mkuffd_wp
#define pte_swp_uffd_any	pte_swp_uffd_wp_any

static inline void cond_install_uffd_wp_ptes(struct vm_area_struct *vma,
					     unsigned long addr, pte_t *ptep,
					     pte_t pte, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		pte_install_uffd_wp_if_needed(vma, addr + i * PAGE_SIZE, ptep + i, pte);
}

#endif /* !CONFIG_UNMAP_STOCK_UFFD_RWP */

#ifdef CONFIG_UNMAP_STOCK_BAD_PAGE_MAP
#define print_bad_pte(vma, addr, pte, page) \
	print_bad_page_map(vma, addr, pte_val(pte), page, PGTABLE_LEVEL_PTE)
#endif

/* Renamed. */
#ifndef CONFIG_UNMAP_STOCK_LAZY_MMU_NESTS
#define lazy_mmu_mode_enable	arch_enter_lazy_mmu_mode
#define lazy_mmu_mode_disable	arch_leave_lazy_mmu_mode
#endif

#ifndef FOLIO_MAPPING_ANON
#define FOLIO_MAPPING_ANON	PAGE_MAPPING_ANON
#endif
#ifndef CONFIG_UNMAP_STOCK_EXCLUSIVE_IN_RMAP
#define make_device_exclusive_entry	make_readable_device_exclusive_entry
#endif
#ifndef CONFIG_UNMAP_STOCK_PGTABLE_LEVEL
#define PGTABLE_LEVEL_PTE	RMAP_LEVEL_PTE
#endif
#ifndef CONFIG_UNMAP_STOCK_DFL_WQ
#define system_dfl_wq		system_unbound_wq
#endif

static inline const unsigned long *compat_page_flags(const struct page *page)
{
#ifdef CONFIG_UNMAP_STOCK_FLAGS_TYPE
	return &page->flags.f;
#else
	return &page->flags;
#endif
}

/* PageAnonExclusive() without its check for hugetlb pages, which do not come in runs. */
static inline bool compat_anon_exclusive(const struct page *page)
{
	return test_bit(PG_anon_exclusive, compat_page_flags(page));
}

/*
 * The caller holds the PMD lock in the first function; with @freeze, the table gets migration
 * entries, unless the folio may be pinned.  Newer kernels need no folio.
 */
static inline void compat_split_huge_pmd_locked(struct vm_area_struct *vma,
						unsigned long addr, pmd_t *pmd,
						struct folio *folio, bool freeze)
{
#ifdef CONFIG_UNMAP_STOCK_SPLIT_FOLIO
	split_huge_pmd_locked(vma, addr, pmd, freeze, folio);
#else
	split_huge_pmd_locked(vma, addr, pmd, freeze);
#endif
}

static inline void compat_split_huge_pmd(struct vm_area_struct *vma, pmd_t *pmd,
					 unsigned long addr)
{
#ifdef CONFIG_UNMAP_STOCK_SPLIT_FOLIO
	__split_huge_pmd(vma, pmd, addr, false, NULL);
#else
	__split_huge_pmd(vma, pmd, addr, false);
#endif
}

/* Whether PMDs hold migration entries. */
#define COMPAT_MIGRATES_PMDS	(IS_ENABLED(CONFIG_ARCH_ENABLE_THP_MIGRATION) ||	\
				 IS_ENABLED(CONFIG_ARCH_HAS_PMD_SOFTLEAVES))

/* The PMD lock (pvmw->ptl) is held. */
static inline void compat_remove_migration_pmd(struct page_vma_mapped_walk *pvmw,
					       struct folio *folio)
{
	if (!COMPAT_MIGRATES_PMDS)
		return;
#ifdef CONFIG_UNMAP_STOCK_BACK_FOLIO
	remove_migration_pmd(pvmw, folio);
#else
	remove_migration_pmd(pvmw, folio_page(folio, 0));
#endif
}

/* Take access away again from a page that userfaultfd protects from being read (7.3). */
static inline pte_t compat_restore_rwp(struct vm_area_struct *vma, pte_t pte)
{
#ifdef CONFIG_UNMAP_STOCK_UFFD_RWP
	return userfaultfd_rwp(vma) ? pte_modify(pte, PAGE_NONE) : pte;
#else
	return pte;
#endif
}

/* Clear entries that are not present. */
static inline void compat_clear_nonpresent(struct mm_struct *mm, unsigned long addr,
					   pte_t *ptep, unsigned int nr, int full)
{
#ifdef CONFIG_UNMAP_STOCK_CLEAR_FULL
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
	return IS_ENABLED(CONFIG_UNMAP_STOCK_EXCLUSIVE_IN_RMAP) ||
	       softleaf_is_device_private(entry);
}

/*
 * What arm64 defers of a flush is to wait for it: the invalidation is sent when the flush is
 * recorded.  Newer kernels send a range then, 6.12 sends a page for each call.
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
#if !defined(CONFIG_UNMAP_STOCK_FLUSH_RANGE) && defined(CONFIG_ARM64)
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
#ifdef CONFIG_UNMAP_STOCK_FLUSH_RANGE
	set_tlb_ubc_flush_pending(vma->vm_mm, pte, start, end);
#else
	/*
	 * x86 records the whole mm whatever the address, so one call is enough for a run;
	 * others flush the address, so every page needs a call that was not sent in a range.
	 */
	start = compat_send_range(vma, pte, start, end);
	do {
		set_tlb_ubc_flush_pending(vma->vm_mm, pte, start);
		start += PAGE_SIZE;
	} while (!UNMAP_ARCH_ONE_FLUSH && start < end);
#endif
}

#endif /* __MM_UNMAP_COMPAT_H */
