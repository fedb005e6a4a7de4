// SPDX-License-Identifier: GPL-2.0-only
void unmap_mapping_folio(struct folio *folio)
{
	struct zap_details details = { };

	i_mmap_lock_read(mapping);
	if (unlikely(mapping_mapped(mapping)))
		unmap_mapping_range_tree(mapping, first_index,
					 last_index, &details);
	i_mmap_unlock_read(mapping);
}

void unmap_mapping_pages(struct mapping *mapping, int even_cows)
{
	struct zap_details details = { };

	details.skip_cows = !even_cows;
	i_mmap_lock_read(mapping);
	if (unlikely(mapping_mapped(mapping)))
		unmap_mapping_range_tree(mapping, first_index,
					 last_index, &details);
	i_mmap_unlock_read(mapping);
}
