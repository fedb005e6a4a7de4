/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How Linux 6.12 and 7.3 differ in counting references to swap entries.  6.12 has one byte for
 * each entry (swap_map); 7.3 has a swap table in each cluster, and functions for ranges in it.
 */
#ifndef __MM_UNMAP_COMPAT_SWAP_H
#define __MM_UNMAP_COMPAT_SWAP_H

#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/unmap_compat.h>

#include "../swap.h"

#if UNMAP_ON_6_12
#include <linux/swap_cgroup.h>

/* swap_refs.c: without CONFIG_SWAP no folio is in the swap cache. */
bool unmap_swap_take_run(swp_entry_t entry, unsigned int nr);

/* Free swap entries, and their folios in the swap cache if nothing else refers to them. */
#define swap_put_entries_direct	free_swap_and_cache_nr
#endif

/*
 * Take one more reference to each of @nr consecutive swap entries, or none.  They belong to a
 * folio in the swap cache that is locked.  Page-table lock held.  False: none was taken.
 */
static inline bool compat_swap_take(swp_entry_t entry, unsigned int nr)
{
#if UNMAP_ON_6_12
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
#if UNMAP_ON_6_12
	swap_free_nr(entry, nr);
#elif defined(CONFIG_SWAP)
	swap_put_entries_cluster(__swap_entry_to_info(entry), swp_offset(entry), nr, false);
#endif
}

/* Give a swap entry to a folio that is locked, and mark it dirty: nobody wrote it there yet. */
static inline bool compat_swap_alloc(struct folio *folio)
{
#if UNMAP_ON_6_12
	return add_to_swap(folio);
#else
	if (folio_alloc_swap(folio))
		return false;
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
#if UNMAP_ON_6_12
	return can_split_folio(folio, 1, NULL);
#else
	return folio_expected_ref_count(folio) == folio_ref_count(folio) - 1;
#endif
}

/*
 * The memcg of a swap entry, only to be compared: entries that are freed together must agree
 * in it.  7.3 uncharges each memcg itself.
 */
static inline unsigned short compat_swap_charge(swp_entry_t entry)
{
#if UNMAP_ON_6_12
	return lookup_swap_cgroup_id(entry);
#else
	return 0;
#endif
}

#endif /* __MM_UNMAP_COMPAT_SWAP_H */
