// SPDX-License-Identifier: GPL-2.0-only
static unsigned int shrink_folio_list(struct list *folio_list, struct scan *sc,
				      bool ignore_references)
{
	while (!list_empty(folio_list)) {
		folio = next(folio_list);
		if (folio_mapped(folio)) {
			try_to_unmap(folio, flags);
			if (folio_mapped(folio))
				continue;
		}
	}
	return 0;
}

static void others(void)
{
	try_to_unmap(folio, flags);
}
