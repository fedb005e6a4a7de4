/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How Linux 6.12 and 7.3 differ in mapcounts, in their statistics, and in what zap is told.
 */
#ifndef __MM_UNMAP_COMPAT_RMAP_H
#define __MM_UNMAP_COMPAT_RMAP_H

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/rmap.h>
#include <linux/unmap_compat.h>
#include <linux/vmstat.h>

#if UNMAP_ON_6_12
/*
 * The mapcount of a large folio.  7.3 also counts by mm, and with CONFIG_NO_PAGE_MAPCOUNT it
 * counts nothing else.
 */
static inline void folio_sub_large_mapcount(struct folio *folio, int nr,
					    struct vm_area_struct *vma)
{
	atomic_sub(nr, &folio->_large_mapcount);
}

static inline int folio_sub_return_large_mapcount(struct folio *folio, int nr,
						  struct vm_area_struct *vma)
{
	return atomic_sub_return(nr, &folio->_large_mapcount) + 1;
}

#define folio_large_nr_pages	folio_nr_pages
#define folio_maybe_mapped_shared	folio_likely_mapped_shared

/* Zap without details; the first only VM_PFNMAP and VM_MIXEDMAP.  Renamed in 7.3. */
#define zap_special_vma_range	zap_vma_ptes

static inline void zap_vma_range(struct vm_area_struct *vma, unsigned long addr,
				 unsigned long size)
{
	zap_page_range_single(vma, addr, size, NULL);
}

/* Set by the rmap walk when it goes on to another page table. */
#define PVMW_PGTABLE_CROSSED	0
#endif

/* Whether aging by MGLRU found the folio young, so that the loop of reclaim keeps it if mapped. */
static inline bool compat_aging_kept(const struct folio *folio)
{
	return UNMAP_ON_6_12 && lru_gen_enabled() && folio_test_referenced(folio);
}

/* Interrupts may come in: only preemption is disabled. */
static inline void compat_mod_lruvec_state(struct lruvec *lruvec, enum node_stat_item item,
					   int nr)
{
#if UNMAP_ON_6_12
	__mod_lruvec_state(lruvec, item, nr);
#else
	mod_lruvec_state(lruvec, item, nr);
#endif
}

/* Whether zap takes private pages that were copied on write: @details is not null. */
static inline bool compat_zap_cows(const struct zap_details *details)
{
#if UNMAP_ON_6_12
	return details->even_cows;
#else
	return !details->skip_cows;
#endif
}

#if UNMAP_ON_6_12
#define COMPAT_ZAP_ALL	.even_cows = true
#else
#define COMPAT_ZAP_ALL	.skip_cows = false
#endif

/*
 * Whether evicting mlocks large folios, too.  6.12 mlocks only single pages for which that was
 * missed.
 */
#define COMPAT_MLOCKS_LARGE	(!UNMAP_ON_6_12)

/* Whether MADV_DONTNEED holds the mmap lock.  7.3 takes only the VMA's lock if it can. */
#define COMPAT_MADVISE_LOCKS_MMAP	UNMAP_ON_6_12

#endif /* __MM_UNMAP_COMPAT_RMAP_H */
