// SPDX-License-Identifier: GPL-2.0-only
/// Hand folios_put_refs() over to mm/unmap/discard/freeing.c.
///
/// Target:   mm/swap.c, or mm/folio.c, folios_put_refs()
/// Why here: it frees folios in batches, under one hold of the lock of their lruvec, for
///           munmap(), exit, MADV_DONTNEED and truncation.
/// Missing:  two definitions of the function: the kernel does not link.
//
// The stock function becomes stock_folios_put_refs().  It serves while the switch is off, and
// folios that are freed in ways of their own.  freeing.c takes the same steps for each other
// folio: the first two rules check that stock has these, and no others.

@release@
identifier folio, lruvecp, flagsp;
@@
__page_cache_release(struct folio *folio, struct lruvec **lruvecp, unsigned long *flagsp)
{
  if (folio_test_lru(folio)) {
	folio_lruvec_relock_irqsave(folio, lruvecp, flagsp);
	lruvec_del_folio(*lruvecp, folio);
	__folio_clear_lru_flags(folio);
  }
}

@steps depends on release@
expression E;
identifier folio, lruvec, flags, i, j;
@@
folios_put_refs(...)
{
<+...
  if (folio_test_hugetlb(folio)) { ... }
  folio_unqueue_deferred_split(folio);
  __page_cache_release(folio, &lruvec, &flags);
  if (j != i)
	E = folio;
...+>
}

@depends on steps@
identifier folios, refs;
@@
- void folios_put_refs
+ void stock_folios_put_refs
  (struct folio_batch *folios, unsigned int *refs)
{
<+...
  mem_cgroup_uncharge_folios(folios);
  free_unref_folios(folios);
...+>
}
