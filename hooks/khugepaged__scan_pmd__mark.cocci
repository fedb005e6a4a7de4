// SPDX-License-Identifier: GPL-2.0-only
/// MADV_COLLAPSE goes on after memory whose page table was given back.
///
/// Target:   mm/khugepaged.c, hpage_collapse_scan_pmd()
/// Why here: in an empty table it finds nothing writable, and goes on; where there is no
///           table it ends.
/// Missing:  MADV_COLLAPSE of a range leaves what comes after the first hole of 2 MiB.

@@
identifier result, pmd;
expression mm, addr;
@@
hpage_collapse_scan_pmd(...) {
<...
  result = find_pmd_or_thp_or_none(mm, addr, &pmd);
+ if (result == SCAN_PMD_NONE && unmap_pmd_marked(*pmd))
+ 	result = SCAN_PAGE_RO;
...>
}
