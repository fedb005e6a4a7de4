/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Removing the rmap of cleared runs, with statistics that are updated once for many folios: what
 * several ways of unmapping share.  All of these functions are called and return with the
 * page-table lock held, and with the RCU read lock, which pte_offset_map_lock() takes.
 */
#ifndef __MM_UNMAP_RMAP_H
#define __MM_UNMAP_RMAP_H

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pgtable.h>

#include "compat_rmap.h"
#include "internal.h"

/**
 * struct rmap_debt - pages to be subtracted from a statistic of mapped pages
 * @lruvec: of all of the pages; NULL if they are not charged to a memcg
 * @charge: memcg_data of all of their folios
 * @nid: the memory node of all of them
 * @item: NR_ANON_MAPPED or NR_FILE_MAPPED
 * @nr: how many pages are not mapped any more
 *
 * The debt does not refer to the folios: once they are unmapped, they may be charged
 * to another memcg, or freed (s390), before the debt is paid.  The RCU read lock keeps
 * the lruvec.
 */
struct rmap_debt {
	struct lruvec *lruvec;
	unsigned long charge;
	int nid;
	enum node_stat_item item;
	int nr;
};

/* vm_normal_page(), with a short path for ordinary entries, which nearly all are. */
static __always_inline struct page *
unmap_normal_page(struct vm_area_struct *vma, unsigned long addr, pte_t pte)
{
	if (IS_ENABLED(CONFIG_ARCH_HAS_PTE_SPECIAL) && !pte_special(pte) &&
	    likely(pte_pfn(pte) <= highest_memmap_pfn))
		return pte_page(pte);
	return vm_normal_page(vma, addr, pte);
}

bool rmap_is_dying(const struct vm_area_struct *vma, struct folio *folio);
void rmap_note_partly_mapped(struct folio *folio);
void rmap_note_if_partly_mapped(struct folio *folio);
void rmap_open_debt(struct rmap_debt *debt, struct folio *folio, enum node_stat_item item);
void rmap_pay_debt(struct rmap_debt *debt);

/* @nr pages of this folio are not mapped any more: the statistics are updated later. */
static __always_inline void rmap_owe(struct rmap_debt *debt, struct folio *folio,
				     enum node_stat_item item, int nr)
{
	if (unlikely(!debt->nr || unmap_charge(folio) != debt->charge ||
		     folio_nid(folio) != debt->nid || item != debt->item))
		rmap_open_debt(debt, folio, item);
	debt->nr += nr;
}

/* Take one mapping off a page.  Returns whether it was the last one. */
static __always_inline bool rmap_unmap_page(struct page *page)
{
	return atomic_add_negative(-1, &page->_mapcount);
}

/*
 * __rmap_remove_large() for CONFIG_NO_PAGE_MAPCOUNT: only the mappings of the whole folio are
 * counted, and all of its pages count as mapped until the last mapping goes.
 */
static inline int rmap_remove_uncounted(struct folio *folio, unsigned int nr,
					struct vm_area_struct *vma, bool note)
{
	int left = folio_sub_return_large_mapcount(folio, nr, vma);

	if (!left)
		return folio_large_nr_pages(folio);
	if (note && left < folio_large_nr_pages(folio) && !folio_entire_mapcount(folio))
		rmap_note_partly_mapped(folio);
	return 0;
}

/* rmap_remove_large(); @note: if some of the pages are still mapped, queue the folio. */
static __always_inline int __rmap_remove_large(struct folio *folio, struct page *page,
					       unsigned int nr, struct vm_area_struct *vma,
					       bool note)
{
	struct page *end = page + nr;
	int last = 0, left;

	if (IS_ENABLED(CONFIG_NO_PAGE_MAPCOUNT))
		return rmap_remove_uncounted(folio, nr, vma, note);
	folio_sub_large_mapcount(folio, nr, vma);
	for (; page + 4 <= end; page += 4)
		last += rmap_unmap_page(page) + rmap_unmap_page(page + 1) +
			rmap_unmap_page(page + 2) + rmap_unmap_page(page + 3);
	for (; page < end; page++)
		last += rmap_unmap_page(page);
	if (!last)
		return 0;

	left = atomic_sub_return_relaxed(last, &folio->_nr_pages_mapped);
	/* A PMD still maps the whole folio, so all of its pages count as mapped. */
	if (left >= ENTIRELY_MAPPED)
		return 0;
	if (note && left)
		rmap_note_partly_mapped(folio);
	return last;
}

/**
 * rmap_remove_large - remove the rmap of consecutive pages of a large folio
 * @folio: not hugetlb
 * @page: the first of the pages
 * @nr: how many; their PTEs are cleared
 * @vma: mapped them
 *
 * Like folio_remove_rmap_ptes(), but leaves statistics and munlock to the caller.  Inline: small
 * large folios pay one percent of munmap() for a call.
 *
 * Return: by how many pages the statistics of mapped pages must fall.
 */
static __always_inline int rmap_remove_large(struct folio *folio, struct page *page,
					     unsigned int nr, struct vm_area_struct *vma)
{
	return __rmap_remove_large(folio, page, nr, vma, true);
}

/*
 * The same, of a folio whose pages are soon mapped again, or, if some are not, noted then
 * (rmap_note_if_partly_mapped()).
 */
static inline int rmap_remove_moving(struct folio *folio, struct page *page, unsigned int nr,
				     struct vm_area_struct *vma)
{
	return __rmap_remove_large(folio, page, nr, vma, false);
}

#endif /* __MM_UNMAP_RMAP_H */
