// SPDX-License-Identifier: GPL-2.0-only
/// An empty page table leaves its PMD after what it mapped is flushed and unmapped, not before.
///
/// Target:   mm/memory.c, zap_pte_range()
/// Why here: stock takes the table out of its PMD first.  Pages that were written still count as
///           mapped then, and other processors may still write to them through stale TLB entries;
///           but who looks for their mappings finds no table, and does not wait for its lock.
///           This is a bug of stock: the hook serves with the switch off, too.
/// Missing:  a hole punch finds a page mapped that it has unmapped, and a store can be lost.

@@
expression reclaim, direct, addr, end, tlb, vma, pte, ptl;
expression list args;
identifier unhook = {zap_empty_pte_table, try_get_and_clear_pmd};
identifier leave = {lazy_mmu_mode_disable, arch_leave_lazy_mmu_mode};
@@
zap_pte_range(...) {
<...
- if (reclaim && direct && addr == end)
-	direct = unhook(args);
  add_mm_rss_vec(...);
  leave();
  if (...) {
  	tlb_flush_mmu_tlbonly(tlb);
  	tlb_flush_rmaps(tlb, vma);
  }
- pte_unmap_unlock(pte, ptl);
+ if (reclaim && direct && addr == end) {
+	VM_WARN_ON_ONCE(tlb->delayed_rmap);
+	direct = unhook(args);
+ }
+ pte_unmap_unlock(pte, ptl);
...>
}
