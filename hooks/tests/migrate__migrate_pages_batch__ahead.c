// SPDX-License-Identifier: GPL-2.0-only
static int migrate_folio_unmap(struct folio *src, struct folio **dstp, int mode,
			       struct list_head *ret)
{
	struct anon_vma *anon_vma = NULL;
	struct folio *dst;
	int state = 0;

	dst = get_new_folio(src);
	if (!dst)
		return -ENOMEM;
	*dstp = dst;

	if (!folio_trylock(src)) {
		if (mode == ASYNC)
			goto out;
		folio_lock(src);
	}
	/* The anon_vma must stay until the folio is mapped again. */
	if (folio_test_anon(src) && !folio_test_ksm(src))
		anon_vma = folio_get_anon_vma(src);
	if (unlikely(!folio_trylock(dst)))
		goto out;
	if (!src->mapping) {
		try_to_free_buffers(src);
		goto out;
	} else if (folio_mapped(src)) {
		try_to_migrate(src, mode == ASYNC ? BATCH : 0);
		state |= WAS_MAPPED;
	}
	if (!folio_mapped(src)) {
		record(dst, state, anon_vma);
		return UNMAP;
	}
out:
	undo(src, state & WAS_MAPPED, anon_vma, ret);
	return -EAGAIN;
}

static int migrate_pages_batch(struct list_head *from, int mode, struct list_head *ret,
			       int nr_pass)
{
	struct folio *folio, *folio2, *dst = NULL;
	int rc;
	LIST_HEAD(unmap_folios);
	LIST_HEAD(dst_folios);
	bool nosplit = false;

	list_for_each_entry_safe(folio, folio2, from, lru) {
		rc = migrate_folio_unmap(folio, &dst, mode, ret);
		if (rc == -ENOMEM)
			goto out;
	}
out:
	try_to_unmap_flush();
	return rc;
}

static bool others(struct folio *folio)
{
	try_to_migrate(folio, 0);
	if (!folio_trylock(folio))
		return false;
	return true;
}
