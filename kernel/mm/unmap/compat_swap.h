/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How kernels differ in counting references to swap entries.  Older ones have one byte for each
 * entry (swap_map); newer ones have a swap table in each cluster, and functions for ranges in it.
 */
#ifndef __MM_UNMAP_COMPAT_SWAP_H
#define __MM_UNMAP_COMPAT_SWAP_H

#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/unmap_compat.h>

#include "../swap.h"

#ifdef CONFIG_UNMAP_SWAP_MAP
#include <linux/swap_cgroup.h>

/* swap_refs.c */
bool unmap_swap_take_run(swp_entry_t entry, unsigned int nr);

/* The lock under which the counts of a cluster's entries change, or that of the device. */
#ifdef CONFIG_UNMAP_STOCK_SWAP_DEVICE_LOCK
#define swap_cluster_lock	lock_cluster_or_swap_info
#define compat_cluster_unlock	unlock_cluster_or_swap_info
#define __swap_entry_to_info	swp_swap_info
#else
static inline void compat_cluster_unlock(struct swap_info_struct *si,
					 struct swap_cluster_info *ci)
{
	swap_cluster_unlock(ci);
}
#endif
#endif

#ifndef CONFIG_UNMAP_STOCK_PUT_ENTRIES
/* Free swap entries, and their folios in the swap cache if nothing else refers to them. */
#define swap_put_entries_direct	free_swap_and_cache_nr
#endif

/*
 * Take one more reference to each of @nr consecutive swap entries, or none.  They belong to a
 * folio in the swap cache that is locked.  Page-table lock held.  False: none was taken.
 */
static inline bool compat_swap_take(swp_entry_t entry, unsigned int nr)
{
#ifdef CONFIG_UNMAP_SWAP_MAP
	return nr == 1 ? swap_duplicate(entry) >= 0 : unmap_swap_take_run(entry, nr);
#elif defined(CONFIG_SWAP)
	return !swap_dup_entries_cluster(__swap_entry_to_info(entry), swp_offset(entry), nr);
#else
	return false;
#endif
}

/* Drop the references that compat_swap_take() took. */
static inline void compat_swap_drop(swp_entry_t entry, unsigned int nr)
{
#ifdef CONFIG_UNMAP_SWAP_MAP
	swap_free_nr(entry, nr);
#elif defined(CONFIG_SWAP)
	swap_put_entries_cluster(__swap_entry_to_info(entry), swp_offset(entry), nr, false);
#endif
}

/* Give a swap entry to a folio that is locked, and mark it dirty: nobody wrote it there yet. */
static inline bool compat_swap_alloc(struct folio *folio)
{
#ifdef CONFIG_UNMAP_STOCK_ADD_TO_SWAP
	return add_to_swap(folio);
#else
#ifdef CONFIG_UNMAP_STOCK_ALLOC_SWAP_GFP
	if (folio_alloc_swap(folio, __GFP_HIGH | __GFP_NOWARN))
		return false;
#else
	if (folio_alloc_swap(folio))
		return false;
#endif
	folio_mark_dirty(folio);
	return true;
#endif
}

/*
 * Whether a large folio, which is locked, has no references but those of its mappings, of the
 * swap cache, and the one of the caller.
 */
static inline bool compat_refs_are_ours(struct folio *folio)
{
#ifdef CONFIG_UNMAP_STOCK_CAN_SPLIT
	return can_split_folio(folio, 1, NULL);
#else
	return folio_expected_ref_count(folio) == folio_ref_count(folio) - 1;
#endif
}

/*
 * The memcg of a swap entry, only to be compared: entries that are freed together must agree
 * in it.  A swap table knows the memcg of each.
 */
static inline unsigned short compat_swap_charge(swp_entry_t entry)
{
#ifdef CONFIG_UNMAP_SWAP_MAP
	return lookup_swap_cgroup_id(entry);
#else
	return 0;
#endif
}

#endif /* __MM_UNMAP_COMPAT_SWAP_H */
