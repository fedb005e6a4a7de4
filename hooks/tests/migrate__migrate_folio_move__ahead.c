// SPDX-License-Identifier: GPL-2.0-only
static int move_to_new_folio(struct folio *dst, struct folio *src, int mode)
{
	return copy(dst, src, mode);
}

static int migrate_folio_move(struct folio *src, struct folio *dst, int mode, int reason,
			      struct list_head *ret)
{
	int rc;
	int state = 0;
	struct anon_vma *anon_vma = NULL;
	struct list_head *prev;

	__migrate_folio_extract(dst, &state, &anon_vma);
	prev = dst->lru.prev;
	list_del(&dst->lru);

	if (unlikely(__folio_test_movable(src))) {
		rc = migrate_movable_ops_page(dst, src, mode);
		if (rc)
			goto out;
		goto out_unlock_both;
	}

	rc = move_to_new_folio(dst, src, mode);
	if (rc)
		goto out;

	folio_add_lru(dst);
	if (state & WAS_MLOCKED)
		lru_add_drain();

	if (state & WAS_MAPPED)
		remove_migration_ptes(src, dst, 0);

out_unlock_both:
	folio_unlock(dst);
	return rc;
out:
	if (rc == -EAGAIN) {
		list_add(&dst->lru, prev);
		__migrate_folio_record(dst, state, anon_vma);
		return rc;
	}
	undo(src, state & WAS_MAPPED, anon_vma, ret);
	return rc;
}

static int migrate_pages_batch(struct list_head *from, int mode, struct list_head *ret_folios)
{
	struct folio *folio, *folio2, *dst = NULL;
	LIST_HEAD(unmap_folios);
	int rc = 0;

	list_for_each_entry_safe(folio, folio2, &unmap_folios, lru) {
		rc = migrate_folio_move(folio, dst, mode, 0, ret_folios);
		if (rc == -EAGAIN)
			continue;
	}
	return rc;
}
