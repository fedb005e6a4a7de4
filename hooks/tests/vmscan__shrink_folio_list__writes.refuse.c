// SPDX-License-Identifier: GPL-2.0-only
/* The function flushes before writes in two places instead of one. */
static unsigned int shrink_folio_list(struct list *folio_list, struct scan *sc,
				      bool ignore_references)
{
	if (large)
		try_to_unmap_flush_dirty();
	else
		try_to_unmap_flush_dirty();
	return 0;
}
