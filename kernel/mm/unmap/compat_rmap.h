/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How kernels differ in mapcounts, in their statistics, and in what zap is told.
 */
#ifndef __MM_UNMAP_COMPAT_RMAP_H
#define __MM_UNMAP_COMPAT_RMAP_H

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/rmap.h>
#include <linux/unmap_compat.h>
#include <linux/vmstat.h>

#ifndef CONFIG_UNMAP_STOCK_MM_MAPCOUNT
/*
 * The mapcount of a large folio.  Newer kernels also count by mm, and with
 * CONFIG_NO_PAGE_MAPCOUNT they count nothing else.
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
#endif

/*
 * The VMAs that may map anonymous pages @first to @last.  The rmap lock is held.  Newer kernels
 * keep apart where a VMA is in its file, and in its anon_vma.
 */
#ifdef anon_rmap_tree_foreach
#define compat_anon_vma_foreach	anon_rmap_tree_foreach
#define compat_anon_address	vma_anon_address
#define compat_anon_index	linear_anon_page_index
#else
#define compat_anon_vma_foreach(avc, anon_vma, first, last)	\
	anon_vma_interval_tree_foreach(avc, &(anon_vma)->rb_root, first, last)
#define compat_anon_address	vma_address
#define compat_anon_index	linear_page_index
#endif

/* Set by the rmap walk when it goes on to another page table. */
#ifndef CONFIG_UNMAP_STOCK_MLOCK_LARGE
#define PVMW_PGTABLE_CROSSED	0
#endif

#ifndef CONFIG_UNMAP_STOCK_ZAP_RANGE
/* Zap without details; the first only VM_PFNMAP and VM_MIXEDMAP. */
#define zap_special_vma_range	zap_vma_ptes

static inline void zap_vma_range(struct vm_area_struct *vma, unsigned long addr,
				 unsigned long size)
{
	zap_page_range_single(vma, addr, size, NULL);
}
#endif

/* Whether aging by MGLRU found the folio young, so that the loop of reclaim keeps it if mapped. */
static inline bool compat_aging_kept(const struct folio *folio)
{
	return !IS_ENABLED(CONFIG_UNMAP_STOCK_LRU_GEN_REFS) && lru_gen_enabled() &&
	       folio_test_referenced(folio);
}

/* Interrupts may come in: only preemption is disabled. */
static inline void compat_mod_lruvec_state(struct lruvec *lruvec, enum node_stat_item item,
					   int nr)
{
#ifdef CONFIG_UNMAP_STOCK_LRU_RCU
	mod_lruvec_state(lruvec, item, nr);
#else
	__mod_lruvec_state(lruvec, item, nr);
#endif
}

/* Whether zap takes private pages that were copied on write: @details is not null. */
static inline bool compat_zap_cows(const struct zap_details *details)
{
#ifdef CONFIG_UNMAP_STOCK_SKIP_COWS
	return !details->skip_cows;
#elif defined(CONFIG_UNMAP_STOCK_RECLAIM_PT)
	return details->even_cows || details->reclaim_pt;
#else
	return details->even_cows;
#endif
}

#ifdef CONFIG_UNMAP_STOCK_SKIP_COWS
#define COMPAT_ZAP_ALL	.skip_cows = false
#else
#define COMPAT_ZAP_ALL	.even_cows = true
#endif

/*
 * Whether evicting mlocks large folios, too.  Older kernels mlock only single pages for which
 * that was missed.
 */
#define COMPAT_MLOCKS_LARGE	IS_ENABLED(CONFIG_UNMAP_STOCK_MLOCK_LARGE)

/*
 * Whether zap_huge_pmd() marks the folio dirty.  If not, what was written through a PMD that a
 * read fault had made is lost when the folio is reclaimed.
 */
#define COMPAT_HUGE_DIRTY	IS_ENABLED(CONFIG_UNMAP_STOCK_HUGE_DIRTY)

/* Whether MADV_DONTNEED holds the mmap lock.  Newer kernels take the VMA's lock if they can. */
#define COMPAT_MADVISE_LOCKS_MMAP	(!IS_ENABLED(CONFIG_UNMAP_STOCK_RECLAIM_PT))

#endif /* __MM_UNMAP_COMPAT_RMAP_H */
