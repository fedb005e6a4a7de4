/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the rest of the kernel sees of mm/unmap/.
 *
 * The stock entry points live on under the prefix stock_: they serve whatever
 * the switch or the kind of folio keeps from us.  Without CONFIG_UNMAP they
 * get their own names back here, and nothing has changed.
 */
#ifndef _LINUX_UNMAP_H
#define _LINUX_UNMAP_H

#include <linux/mm_types.h>
#include <linux/rmap.h>

#ifdef CONFIG_UNMAP
void stock_try_to_unmap(struct folio *folio, enum ttu_flags flags);
#else
#define stock_try_to_unmap	try_to_unmap
#endif /* CONFIG_UNMAP */

/*
 * Helpers of mm/rmap.c for the deferred TLB flush of reclaim, static in the
 * stock kernel.  Both want the page-table lock held.
 */
void set_tlb_ubc_flush_pending(struct mm_struct *mm, pte_t pteval,
			       unsigned long uaddr);
bool should_defer_flush(struct mm_struct *mm, enum ttu_flags flags);

/*
 * Helpers of mm/swapfile.c, static in the stock kernel: the lock under which
 * the counts of a cluster's swap entries change.
 */
struct swap_cluster_info;
struct swap_info_struct;
struct swap_cluster_info *
lock_cluster_or_swap_info(struct swap_info_struct *si, unsigned long offset);
void unlock_cluster_or_swap_info(struct swap_info_struct *si,
				 struct swap_cluster_info *ci);

#endif /* _LINUX_UNMAP_H */
