// SPDX-License-Identifier: GPL-2.0-only
/// Go on where the collection stopped if the page table was freed meanwhile (Linux 7.3).
///
/// Target:   mm/migrate_device.c, migrate_vma_collect_pmd()
/// Why here: the function drops the table's lock in the middle of a table, to split a large
///           folio.  If the PMD holds no table then, it collects the whole range as a hole or as
///           a huge page, in addition to what it has collected.  It also has not flushed the
///           entries that it cleared, which law 7 wants before the lock is dropped.
/// Missing:  the arrays of a driver that migrates memory to its device overflow; translations
///           outlive the table.

@resume@
symbol addr;
expression P, S, E, W, F;
@@
migrate_vma_collect_pmd(...) {
<...
- migrate_vma_collect_huge_pmd(P, S, E, W, F)
+ migrate_vma_collect_huge_pmd(P, unmap_table_may_go() ? addr : S, E, W, F)
...>
}

@flush@
identifier ptep, ptl, ret, unmapped;
expression V, S, E;
@@
migrate_vma_collect_pmd(...) {
<...
  lazy_mmu_mode_disable();
+ if (unmap_table_may_go() && unmapped) {
+ 	flush_tlb_range(V, S, E);
+ 	unmapped = 0;
+ }
  pte_unmap_unlock(ptep, ptl);
  ret = migrate_vma_split_folio(...);
  if (ret) {
  	if (unmapped)
  		flush_tlb_range(V, S, E);
  	...
  }
...>
}
