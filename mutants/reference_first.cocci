// SPDX-License-Identifier: GPL-2.0-only
@@
identifier pvmw, pfn, young;
@@
reference_step(struct page_vma_mapped_walk *pvmw, unsigned long pfn, bool *young)
{
  ...
+ if (unmap_mutated(REFERENCE_FIRST) && pfn > pvmw->pfn)
+	return 1;
  if (!pte_young(...))
	return ...;
  ...
}
