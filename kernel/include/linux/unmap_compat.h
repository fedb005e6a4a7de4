/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How kernels differ where stock code meets mm/unmap/.  What only mm/unmap/ needs is in
 * mm/unmap/compat*.h.  These files alone ask what a kernel has (mm/unmap/Kconfig.stock); no file
 * asks for its version.  The code is written for the newest kernel; each shim says what it
 * replaces.
 */
#ifndef _LINUX_UNMAP_COMPAT_H
#define _LINUX_UNMAP_COMPAT_H

#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/rmap.h>
#include <linux/sched.h>

struct list_lru;
struct list_lru_one;
struct mem_cgroup;
struct swap_cluster_info;
struct swap_info_struct;

/*
 * Helpers that are static in the stock kernel.
 *
 * set_tlb_ubc_flush_pending() of mm/rmap.c is called with the page-table lock held.
 *
 * Of mm/swapfile.c, with a swap_map: the lock under which the counts of a cluster's swap entries
 * change, or that of the device.  With a swap table: take or drop a reference to each of @nr
 * swap entries of one cluster; with @reclaim_cache, try to free folios in the swap cache that
 * nothing refers to any more.
 *
 * Of mm/list_lru.c: lock the list of @memcg or, if that is gone, of an ancestor; null: with
 * @skip_empty, if it is gone.
 */
#ifdef CONFIG_UNMAP_STOCK_FLUSH_RANGE
void set_tlb_ubc_flush_pending(struct mm_struct *mm, pte_t pteval,
			       unsigned long start, unsigned long end);
#else
void set_tlb_ubc_flush_pending(struct mm_struct *mm, pte_t pteval,
			       unsigned long uaddr);
#endif

#ifdef CONFIG_UNMAP_STOCK_SWAP_DEVICE_LOCK
struct swap_cluster_info *
lock_cluster_or_swap_info(struct swap_info_struct *si, unsigned long offset);
void unlock_cluster_or_swap_info(struct swap_info_struct *si,
				 struct swap_cluster_info *ci);
#elif !defined(CONFIG_UNMAP_SWAP_MAP)
int swap_dup_entries_cluster(struct swap_info_struct *si, pgoff_t offset, int nr);
void swap_put_entries_cluster(struct swap_info_struct *si, pgoff_t offset, int nr,
			      bool reclaim_cache);
#endif

#if defined(CONFIG_UNMAP_STOCK_LIST_LOCKS) && !defined(CONFIG_UNMAP_STOCK_LIST_LRU_LOCK)
struct list_lru_one *lock_list_lru_of_memcg(struct list_lru *lru, int nid,
					    struct mem_cgroup *memcg, bool irq, bool skip_empty);
#endif

/*
 * The flags of remove_migration_ptes(): whether the rmap lock is held, and whether to map pages
 * full of zeroes by the zero page.
 */
#ifdef CONFIG_UNMAP_STOCK_RMP_FLAGS
#define compat_back_flags	int
#define COMPAT_BACK_LOCKED	RMP_LOCKED
#define COMPAT_BACK_ZEROPAGE	RMP_USE_SHARED_ZEROPAGE
#else
#define compat_back_flags	enum ttu_flags
#define COMPAT_BACK_LOCKED	TTU_RMAP_LOCKED
#define COMPAT_BACK_ZEROPAGE	TTU_USE_SHARED_ZEROPAGE
#endif

/*
 * mm->flags: a bitmap, or an unsigned long.  UNMAP_MMF_INHERITED are the flags that fork() and
 * exec() keep.
 */
#ifdef CONFIG_UNMAP_STOCK_MM_FLAGS
#define UNMAP_MMF_INHERITED	MMF_INIT_LEGACY_MASK
#else
#include <linux/sched/coredump.h>

#define UNMAP_MMF_INHERITED	MMF_INIT_MASK

static inline bool mm_flags_test(int flag, const struct mm_struct *mm)
{
	return test_bit(flag, &mm->flags);
}

static inline void mm_flags_set(int flag, struct mm_struct *mm)
{
	set_bit(flag, &mm->flags);
}
#endif

/*
 * Whether stock frees empty page tables for this caller of zap: with PT_RECLAIM those that one
 * MADV_DONTNEED covers.
 */
static inline bool unmap_zap_reclaims(const struct zap_details *details)
{
#ifdef CONFIG_UNMAP_STOCK_RECLAIM_PT
	return IS_ENABLED(CONFIG_PT_RECLAIM) && details && details->reclaim_pt;
#else
	return false;
#endif
}

#endif /* _LINUX_UNMAP_COMPAT_H */
