/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How Linux 6.12 and 7.3 differ where stock code meets mm/unmap/.  What only mm/unmap/ needs is
 * in mm/unmap/compat*.h.  Kernel versions are tested in these files alone.  The code is
 * written for the newest kernel; each shim says what it replaces.
 */
#ifndef _LINUX_UNMAP_COMPAT_H
#define _LINUX_UNMAP_COMPAT_H

#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/version.h>

/* Linux 6.12.y; otherwise 7.3.y. */
#define UNMAP_ON_6_12	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))

struct swap_cluster_info;
struct swap_info_struct;

/*
 * Helpers of mm/rmap.c and mm/swapfile.c that are static in the stock kernel.
 *
 * set_tlb_ubc_flush_pending() is called with the page-table lock held.  Since 7.3 it takes a
 * range.
 *
 * 6.12: the lock under which the counts of a cluster's swap entries change.  7.3: take or drop
 * a reference to each of @nr swap entries of one cluster; with @reclaim_cache, try to free
 * folios in the swap cache that nothing refers to any more.
 */
#if UNMAP_ON_6_12
#include <linux/sched/coredump.h>

void set_tlb_ubc_flush_pending(struct mm_struct *mm, pte_t pteval,
			       unsigned long uaddr);
struct swap_cluster_info *
lock_cluster_or_swap_info(struct swap_info_struct *si, unsigned long offset);
void unlock_cluster_or_swap_info(struct swap_info_struct *si,
				 struct swap_cluster_info *ci);
#else
void set_tlb_ubc_flush_pending(struct mm_struct *mm, pte_t pteval,
			       unsigned long start, unsigned long end);
int swap_dup_entries_cluster(struct swap_info_struct *si, pgoff_t offset, int nr);
void swap_put_entries_cluster(struct swap_info_struct *si, pgoff_t offset, int nr,
			      bool reclaim_cache);
#endif

/*
 * mm->flags: an unsigned long in 6.12, a bitmap in 7.3.  UNMAP_MMF_INHERITED are the flags
 * that fork() and exec() keep.
 */
#if UNMAP_ON_6_12
#define UNMAP_MMF_INHERITED	MMF_INIT_MASK

static inline bool mm_flags_test(int flag, const struct mm_struct *mm)
{
	return test_bit(flag, &mm->flags);
}

static inline void mm_flags_set(int flag, struct mm_struct *mm)
{
	set_bit(flag, &mm->flags);
}
#else
#define UNMAP_MMF_INHERITED	MMF_INIT_LEGACY_MASK
#endif

/*
 * Whether stock frees empty page tables for this caller of zap: 7.3 frees the tables that one
 * MADV_DONTNEED covers, if it has PT_RECLAIM.
 */
static inline bool unmap_zap_reclaims(const struct zap_details *details)
{
#if UNMAP_ON_6_12
	return false;
#else
	return IS_ENABLED(CONFIG_PT_RECLAIM) && details && details->reclaim_pt;
#endif
}

#endif /* _LINUX_UNMAP_COMPAT_H */
