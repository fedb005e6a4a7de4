// SPDX-License-Identifier: GPL-2.0-only
static unsigned int shrink_folio_list(struct list *folio_list, struct scan *sc,
				      bool ignore_references)
{
	while (!list_empty(folio_list)) {
		folio = next(folio_list);
		if (folio_test_dirty(folio)) {
			try_to_unmap_flush_dirty();
			switch (pageout(folio, mapping, &plug, folio_list)) {
			case PAGE_KEEP:
				goto keep_locked;
			case PAGE_CLEAN:
				;
			}
		}
keep_locked:
		folio_unlock(folio);
	}
	try_to_unmap_flush();
	return 0;
}

static void others(void)
{
	try_to_unmap_flush_dirty();
}
