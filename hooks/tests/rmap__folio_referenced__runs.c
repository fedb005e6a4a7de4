// SPDX-License-Identifier: GPL-2.0-only
static bool folio_referenced_one(struct folio *folio, void *arg)
{
	return folio->young;
}

/**
 * folio_referenced() - the name in comments stays
 */
int folio_referenced(struct folio *folio, int is_locked,
		     struct mem_cgroup *memcg, unsigned long *vm_flags)
{
	*vm_flags = 0;
	return folio_referenced_one(folio, memcg);
}

int caller(struct folio *folio, unsigned long *vm_flags)
{
	return folio_referenced(folio, 1, NULL, vm_flags);
}
