// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
unmap_ahead_is_mapped(...)
{
- return E && pte_pfn(pte) == folio_pfn(folio);
+ return E && (pte_pfn(pte) == folio_pfn(folio) || unmap_mutated(AHEAD_PFN));
}
