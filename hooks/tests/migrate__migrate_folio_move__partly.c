// SPDX-License-Identifier: GPL-2.0-only
static int migrate_folio_move(struct folio *src, struct folio *dst, int state)
{
	bool queued = false, partly = false;
	int rc;

	if (folio_order(src) > 1) {
		queued = true;
		partly = folio_test_partially_mapped(src);
	}
	rc = move_to_new_folio(dst, src, state);
	if (rc)
		goto out;

	folio_add_lru(dst);
	if (state & 1)
		remove_migration_ptes(src, dst, 0);

	/*
	 * What was queued is queued again.
	 * It was taken off the queue above, and what was
	 * known of it was noted before that: whether it
	 * was mapped in full.
	 */
	if (queued)
		deferred_split_folio(dst, partly);

	folio_unlock(dst);
	return 0;
out:
	return rc;
}
