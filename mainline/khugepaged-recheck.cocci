// SPDX-License-Identifier: GPL-2.0-only
/// Compare the PMD again after each time that the lock was dropped, also where there is one lock.

@@
identifier unlock;
@@
try_collapse_pte_mapped_thp(...) {
<...
  pml = pmd_lock(mm, pmd);
- if (ptl != pml) {
- 	spin_lock_nested(ptl, SINGLE_DEPTH_NESTING);
- 	if (unlikely(!pmd_same(pgt_pmd, pmdp_get_lockless(pmd)))) {
- 		flush_tlb_mm(mm);
- 		goto unlock;
- 	}
- }
+		if (ptl != pml)
+			spin_lock_nested(ptl, SINGLE_DEPTH_NESTING);
+		/* MADV_DONTNEED may have freed the page table meanwhile. */
+		if (unlikely(!pmd_same(pgt_pmd, pmdp_get_lockless(pmd)))) {
+			flush_tlb_mm(mm);
+			goto unlock;
+		}
...>
}
