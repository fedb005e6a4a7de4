// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio, vma;
@@
unmap_split_map_page(...)
{
  <...
- mlock_vma_folio(folio, vma);
+ if (!unmap_mutated(SPLIT_MLOCK))
+	mlock_vma_folio(folio, vma);
  ...>
}
