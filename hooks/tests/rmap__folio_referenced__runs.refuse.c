// SPDX-License-Identifier: GPL-2.0-only
/* The function has another name. */
int folio_is_referenced(struct folio *folio, int is_locked,
			struct mem_cgroup *memcg, unsigned long *vm_flags)
{
	*vm_flags = 0;
	return folio_referenced_one(folio, memcg);
}

int caller(struct folio *folio, unsigned long *vm_flags)
{
	return folio_is_referenced(folio, 1, NULL, vm_flags);
}
