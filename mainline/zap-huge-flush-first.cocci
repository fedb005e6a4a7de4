// SPDX-License-Identifier: GPL-2.0-only
/// A huge page of a file that was written is flushed from the TLBs before its rmap is removed.

@@
symbol folio, is_present, has_deposit, orig_pmd, vma, tlb, addr;
@@
zap_huge_pmd(...) {
<...
  has_deposit = has_deposited_pgtable(vma, orig_pmd, folio);
+
+	/*
+	 * Other processors may write to a dirty page through stale TLB
+	 * entries. Once it counts as unmapped, writeback would clean it
+	 * without waiting for them. Anonymous memory has no such writeback:
+	 * the last reference is dropped after the flush. Nobody writes if the
+	 * whole address space goes.
+	 */
+	if (folio && is_present && !tlb->fullmm && pmd_dirty(orig_pmd) &&
+	    !folio_test_anon(folio))
+		flush_pmd_tlb_range(vma, addr, addr + HPAGE_PMD_SIZE);
+
  if (folio)
  	zap_huge_pmd_folio(...);
...>
}
