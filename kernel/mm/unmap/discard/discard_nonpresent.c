// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discarding entries that are not present: swap, migration, device memory,
 * poison, markers.  Swap entries and markers are discarded in runs.
 */
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../compat_swap.h"
#include "discard.h"

/*
 * Device-private and device-exclusive entries hold a folio reference.  Whether they are in
 * rmap, compat_device_in_rmap() says.  False: the entry stays.
 */
static bool discard_device_page(struct discard *d, softleaf_t entry)
{
	struct page *page = softleaf_to_page(entry);
	struct folio *folio = page_folio(page);

	if (!discard_wanted(d, folio))
		return false;
	/* Only anonymous memory has such entries, so no userfaultfd marker is due. */
	WARN_ON_ONCE(!folio_test_anon(folio));
	d->rss[mm_counter(folio)]--;
	if (compat_device_in_rmap(entry))
		folio_remove_rmap_pte(folio, page, d->vma);
	folio_put(folio);
	return true;
}

/* A migration entry: migration has already removed the rmap.  False: the entry stays. */
static bool discard_migrating(struct discard *d, softleaf_t entry)
{
	struct folio *folio = softleaf_to_folio(entry);

	if (!discard_wanted(d, folio))
		return false;
	d->rss[mm_counter(folio)]--;
	return true;
}

/* The length of a run of equal entries.  Markers have no offset, so they are equal. */
static unsigned int discard_equal_entries(const struct discard *d, pte_t pte)
{
	unsigned int nr = 1, left = discard_left(d);

	while (nr < left && pte_same(ptep_get(d->ptep + nr), pte))
		nr++;
	return nr;
}

/*
 * The length of a run of swap entries with consecutive offsets, all charged to the same
 * memcg: they are freed and uncharged together.
 */
static unsigned int discard_swap_run(const struct discard *d, pte_t pte)
{
	swp_entry_t entry = softleaf_from_pte(pte);
	unsigned int left = discard_left(d);
	pte_t *ptep = d->ptep, *end = ptep + left;
	unsigned short id;

	if (!UNMAP_ARCH_SWAP_STEP)
		return swap_pte_batch(d->ptep, left, pte);
	id = compat_swap_charge(entry);
	while (++ptep < end) {
		pte = __pte(pte_val(pte) + UNMAP_ARCH_SWAP_STEP);
		entry.val++;
		if (!pte_same(unmap_arch_peek(ptep), pte) || compat_swap_charge(entry) != id)
			break;
	}
	return ptep - d->ptep;
}

/* Swap entries of anonymous memory.  False: they stay. */
static bool discard_swap(struct discard *d, swp_entry_t entry, unsigned int nr)
{
	if (!discard_private(d))
		return false;
	d->rss[MM_SWAPENTS] -= nr;
	swap_put_entries_direct(entry, nr);
	return true;
}

/*
 * Drop what the entries refer to.  @nr is set to the length of a run.  False: the entries
 * stay; otherwise the caller clears them.
 */
static bool discard_drop(struct discard *d, pte_t pte, unsigned int *nr)
{
	softleaf_t entry = softleaf_from_pte(pte);

	if (softleaf_is_swap(entry)) {
		*nr = discard_swap_run(d, pte);
		return discard_swap(d, entry, *nr);
	}
	if (softleaf_is_device_private(entry) || softleaf_is_device_exclusive(entry))
		return discard_device_page(d, entry);
	if (softleaf_is_migration(entry))
		return discard_migrating(d, entry);
	if (softleaf_is_uffd_wp_marker(entry)) {
		*nr = discard_equal_entries(d, pte);
		return discard_markers(d);
	}
	if (softleaf_is_guard_marker(entry)) {
		*nr = discard_equal_entries(d, pte);
		return discard_drops_markers(d);
	}
	if (softleaf_is_hwpoison(entry) || softleaf_is_poison_marker(entry))
		return discard_private(d);
	pr_alert("unrecognized swap entry 0x%lx\n", entry.val);
	WARN_ON_ONCE(1);
	return true;
}

/**
 * discard_nonpresent - discard entries that are not present
 * @d: its current entry is the first one
 * @pte: the first one's value
 *
 * Return: how many entries were passed: all of them were cleared, or all stay.
 */
unsigned int discard_nonpresent(struct discard *d, pte_t pte)
{
	unsigned int nr = 1;

	d->others = true;
	if (!discard_drop(d, pte, &nr)) {
		d->remains = true;
		return nr;
	}
	compat_clear_nonpresent(d->tlb->mm, d->addr, d->ptep, nr, d->tlb->fullmm);
	if (unlikely(pte_swp_uffd_any(pte)))
		discard_leave_markers(d, nr, pte);
	return nr;
}
