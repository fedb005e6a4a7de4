// SPDX-License-Identifier: GPL-2.0-only
/// Let MADV_COLLAPSE continue past a page table that was freed.
///
/// Target:   mm/khugepaged.c, hpage_collapse_scan_pmd()
/// Why here: an empty table has no writable entry, and MADV_COLLAPSE continues with the next
///           2 MiB; a missing table ends it.
/// Missing:  MADV_COLLAPSE of a range leaves out everything after the first purged 2 MiB.

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
