// SPDX-License-Identifier: GPL-2.0-only
/// migrate_vma_collect_pmd() flushes before it drops the lock of the page table.

@@
@@
migrate_vma_collect_pmd(...) {
<...
  lazy_mmu_mode_disable();
+				/* The page table may be freed once it is unlocked. */
+				if (unmapped) {
+					flush_tlb_range(walk->vma, start, end);
+					unmapped = 0;
+				}
  pte_unmap_unlock(ptep, ptl);
  ret = migrate_vma_split_folio(...);
- if (ret) {
- 	if (unmapped)
- 		flush_tlb_range(walk->vma, start, end);
- 	return migrate_vma_collect_skip(addr, end, walk);
- }
+				if (ret)
+					return migrate_vma_collect_skip(addr, end, walk);
...>
}
