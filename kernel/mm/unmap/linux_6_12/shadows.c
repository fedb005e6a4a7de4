// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clearing the shadows of freed swap entries.  A shadow remains in the swap cache
 * after reclaim, and records when the page was evicted.  A run of entries is cleared
 * with a few stores.
 */
#include <linux/minmax.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/unmap.h>
#include <linux/xarray.h>

#include "../../swap.h"
#include "../internal.h"

/* The order of the largest store at @index: an aligned power of two, less than a node. */
static unsigned int shadows_store_order(unsigned long index, unsigned long nr)
{
	unsigned int order = min_t(unsigned int, ilog2(nr), XA_CHUNK_SHIFT - 1);

	return index ? min_t(unsigned int, order, __ffs(index)) : order;
}

/* Whether the range, up to @last, has no folio: one that is in the swap cache must stay. */
static bool shadows_only(struct xa_state *xas, unsigned long last)
{
	void *old = xas_load(xas);

	/* xas_next() visits every slot: there are few empty ones to skip. */
	while (xa_is_value(old) || !old) {
		if (xas->xa_index == last)
			return true;
		old = xas_next(xas);
	}
	return false;
}

static void shadows_erase(struct xa_state *xas, unsigned long index, unsigned long nr)
{
	unsigned int order;

	for (; nr; index += 1UL << order, nr -= 1UL << order) {
		order = shadows_store_order(index, nr);
		xas_set_order(xas, index, order);
		xas_store(xas, NULL);
	}
}

/* The range lies in a single one of the address spaces of its swap device. */
static bool shadows_clear(swp_entry_t entry, unsigned long nr)
{
	struct address_space *mapping = swap_address_space(entry);
	unsigned long index = swap_cache_index(entry);
	XA_STATE(xas, &mapping->i_pages, index);
	bool done;

	xas_set_update(&xas, workingset_update_node);
	xa_lock_irq(&mapping->i_pages);
	done = shadows_only(&xas, index + nr - 1);
	if (done)
		shadows_erase(&xas, index, nr);
	xa_unlock_irq(&mapping->i_pages);
	return done;
}

/**
 * clear_shadow_from_swap_cache - clear the shadows of swap entries
 * @type: the swap device
 * @begin: the first entry's offset
 * @end: the last entry's offset
 *
 * The entries are being freed, so nobody uses them.  The caller keeps the device from
 * going away.
 */
void clear_shadow_from_swap_cache(int type, unsigned long begin,
				  unsigned long end)
{
	if (unmap_enabled(UNMAP_BIT_DISCARD) &&
	    IS_ENABLED(CONFIG_XARRAY_MULTI) && begin < end &&
	    !((begin ^ end) >> SWAP_ADDRESS_SPACE_SHIFT) &&
	    shadows_clear(swp_entry(type, begin), end - begin + 1))
		return;
	stock_clear_shadow_from_swap_cache(type, begin, end);
}
