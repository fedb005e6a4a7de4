// SPDX-License-Identifier: GPL-2.0-only
/* The folio is queued before its entries are back. */
static int migrate_folio_move(struct folio *src, struct folio *dst, int state)
{
	bool partly = folio_test_partially_mapped(src);
	int rc;

	rc = move_to_new_folio(dst, src, state);
	if (rc)
		goto out;
	deferred_split_folio(dst, partly);
	folio_add_lru(dst);
	if (state & 1)
		remove_migration_ptes(src, dst, 0);
	return 0;
out:
	return rc;
}
