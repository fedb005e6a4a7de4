// SPDX-License-Identifier: GPL-2.0-only
/// Let MADV_COLLAPSE collapse memory whose page table was freed (Linux 7.3).
///
/// Target:   mm/khugepaged.c, collapse_scan_pmd()
/// Why here: MADV_COLLAPSE makes a huge page of an empty table, and skips a missing one.
///           khugepaged passes over both.
/// Missing:  MADV_COLLAPSE of memory that was purged in pieces fails.

@@
symbol cc;
identifier result, pmd;
expression mm, addr;
@@
collapse_scan_pmd(...) {
<...
  result = find_pmd_or_thp_or_none(mm, addr, &pmd);
+ if (result == SCAN_NO_PTE_TABLE && !cc->is_khugepaged && unmap_pmd_refilled(mm, pmd))
+ 	result = SCAN_SUCCEED;
...>
}
