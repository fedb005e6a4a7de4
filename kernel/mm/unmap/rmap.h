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
int rmap_remove_large(struct folio *folio, struct page *page, unsigned int nr,
		      struct vm_area_struct *vma);
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

#endif /* __MM_UNMAP_RMAP_H */
