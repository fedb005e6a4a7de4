/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evicting: what the files of this folder need of each other, and ahead/ of them.  What takes a
 * struct unmap_op is called and returns with the page-table lock held.
 */
#ifndef __MM_UNMAP_EVICT_H
#define __MM_UNMAP_EVICT_H

#include "../internal.h"

/*
 * evict_*.c: what becomes of a cleared run.  The page-table lock is held.  If a reason is
 * returned other than UNMAP_GOES, the caller puts the run back.
 */
enum unmap_reason unmap_lazyfree_leave(struct unmap_op *op);
enum unmap_reason unmap_lazyfree_judge(const struct unmap_op *op);
enum unmap_reason unmap_swap_leave(struct unmap_op *op);
bool unmap_evict_poison(struct unmap_op *op);

/* evict.c */
void unmap_evict(struct folio *folio, enum ttu_flags flags);
bool unmap_evict_from_vma(struct folio *folio, struct vm_area_struct *vma,
			  unsigned long address, void *arg);
int unmap_folio_is_unmapped(struct folio *folio);

/* evict.c: for ahead/. */
bool unmap_evict_first(struct unmap_op *op, struct page_vma_mapped_walk *pvmw);
void unmap_evict_notice_table(const struct unmap_op *op);
void unmap_evict_aim(struct unmap_op *op, struct page_vma_mapped_walk *pvmw);
bool unmap_evict_cleared(struct unmap_op *op);

/* evict_hugetlb.c: called by the rmap walk.  Without CONFIG_HUGETLB_PAGE no folio is hugetlb. */
bool unmap_hugetlb_from_vma(struct folio *folio, struct vm_area_struct *vma,
			    unsigned long address, void *arg);

#endif /* __MM_UNMAP_EVICT_H */
