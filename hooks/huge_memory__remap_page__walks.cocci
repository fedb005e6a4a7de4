// SPDX-License-Identifier: GPL-2.0-only
/// Let mm/unmap/ map the parts of a folio that was split.
///
/// Target:   mm/huge_memory.c, remap_page()
/// Why here: all parts are locked, and so is the anon_vma; nothing maps them.  Of a file, nothing
///           is mapped again.
/// Missing:  nothing is lost: rmap is walked once for each part.

@@
identifier folio, nr, flags, i;
@@
static void remap_page(struct folio *folio, unsigned long nr, int flags)
{
	int i = 0;
...
  if (!folio_test_anon(folio))
  	return;
+ if (unmap_split_back(folio, nr, flags))
+ 	return;
...
}
