// SPDX-License-Identifier: GPL-2.0-only
/// migrate_vma_collect_pmd() goes on where it was if the page table is gone.

@@
@@
migrate_vma_collect_pmd(...) {
<...
- int ret = migrate_vma_collect_huge_pmd(pmdp, start, end, walk, fault_folio);
+		/* Not from start: the pages before addr have been collected. */
+		int ret = migrate_vma_collect_huge_pmd(pmdp, addr, end, walk, fault_folio);
...>
}
