// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taking references to the swap entries of a whole run, with the swap cluster
 * locked once.
 *
 * The swap entries belong to a folio in the swap cache that the caller has locked.
 * So they cannot be freed, and swapoff cannot remove their device.
 */
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/unmap.h>

#include "../compat_swap.h"
#include "../internal.h"

/*
 * Increment all counts or none.  A full count continues in another page
 * (COUNT_CONTINUED): leave that to swap_duplicate().  WRITE_ONCE(), because others
 * read the counts without the lock.
 */
static bool swap_refs_add_one_each(unsigned char *counts, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		VM_WARN_ON_ONCE(!(counts[i] & SWAP_HAS_CACHE));
		if (unlikely((counts[i] & ~SWAP_HAS_CACHE) >= SWAP_MAP_MAX))
			break;
		WRITE_ONCE(counts[i], counts[i] + 1);
	}
	if (likely(i == nr))
		return true;
	while (i--)
		WRITE_ONCE(counts[i], counts[i] - 1);
	return false;
}

static bool swap_refs_take_together(swp_entry_t entry, unsigned int nr)
{
	struct swap_info_struct *si = __swap_entry_to_info(entry);
	unsigned long offset = swp_offset(entry);
	struct swap_cluster_info *ci;
	bool taken;

	ci = swap_cluster_lock(si, offset);
	taken = swap_refs_add_one_each(si->swap_map + offset, nr);
	compat_cluster_unlock(si, ci);
	return taken;
}

static bool swap_refs_take_each(swp_entry_t entry, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (swap_duplicate(swp_entry(swp_type(entry),
					     swp_offset(entry) + i)) < 0)
			break;
	}
	if (i == nr)
		return true;
	if (i)
		swap_free_nr(entry, i);
	return false;
}

/**
 * unmap_swap_take_run - take one more reference to each of several swap entries
 * @entry: the first one; it belongs to a folio in the swap cache
 * @nr: how many, all of the same folio and so of the same cluster
 *
 * The folio is locked, and the page-table lock held, on entry and return.
 *
 * Return: true; or false, with no reference taken, if there is no memory to
 * continue a full count.
 */
bool unmap_swap_take_run(swp_entry_t entry, unsigned int nr)
{
	return swap_refs_take_together(entry, nr) || swap_refs_take_each(entry, nr);
}
