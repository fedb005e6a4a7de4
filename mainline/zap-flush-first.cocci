// SPDX-License-Identifier: GPL-2.0-only
/// An empty page table leaves its PMD after the TLB flush and the delayed rmap removal.

@@
@@
zap_pte_range(...) {
<...
- if (can_reclaim_pt && direct_reclaim && addr == end)
-	direct_reclaim = zap_empty_pte_table(mm, pmd, ptl, &pmdval);
  add_mm_rss_vec(...);
  lazy_mmu_mode_disable();
  if (force_flush) {
  	tlb_flush_mmu_tlbonly(tlb);
  	tlb_flush_rmaps(tlb, vma);
  }
+
+	/*
+	 * Fast path: try to hold the pmd lock and unmap the PTE page. Not
+	 * before the TLB flush and the delayed rmap removal: until then, rmap
+	 * walks must find the PTE page, and wait for its lock.
+	 *
+	 * If the pte lock was released midway (retry case), or if the attempt
+	 * to hold the pmd lock failed, then we need to recheck all pte entries
+	 * to ensure they are still none, thereby preventing the pte entries
+	 * from being repopulated by another thread.
+	 */
+	if (can_reclaim_pt && direct_reclaim && addr == end)
+		direct_reclaim = zap_empty_pte_table(mm, pmd, ptl, &pmdval);
+
  pte_unmap_unlock(...);
...>
}
