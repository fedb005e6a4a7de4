// SPDX-License-Identifier: GPL-2.0-only
/// Let MADV_COLLAPSE collapse memory whose page table was freed (since Linux 6.18).
///
/// Target:   mm/khugepaged.c, collapse_scan_pmd(), or hpage_collapse_scan_pmd() (Linux 6.18), and
///           collapse_huge_page()
/// Why here: MADV_COLLAPSE makes a huge page of an empty table, and skips a missing one.
///           khugepaged passes over both, and must allocate no table.  The mmap lock is dropped
///           after the scan, to allocate the huge page, and again before it is taken for writing:
///           the table may be freed there, too.  Then the PMD is looked up again, since it is
///           known only under that lock.  Where swapping in finds the table gone, MADV_COLLAPSE
///           returns -EAGAIN, not -EINVAL.
/// Missing:  MADV_COLLAPSE of memory that was purged in pieces fails.

@look@
symbol cc;
identifier fn = {collapse_scan_pmd, hpage_collapse_scan_pmd, collapse_huge_page};
identifier result, pmd;
expression mm, addr;
@@
fn(...) {
<...
  result = find_pmd_or_thp_or_none(mm, addr, &pmd);
+ if (unmap_scan_no_table(result) && !cc->is_khugepaged && unmap_pmd_refilled(mm, pmd))
+ 	result = SCAN_SUCCEED;
...>
}

@lock@
symbol cc;
identifier fn = {collapse_scan_pmd, hpage_collapse_scan_pmd};
identifier pte;
expression mm, pmd, addr, ptl;
@@
fn(...) {
<...
  pte = pte_offset_map_lock(mm, pmd, addr, ptl);
+ if (!pte && !cc->is_khugepaged)
+ 	pte = unmap_fault_map_lock(mm, pmd, addr, ptl);
...>
}

@valid@
symbol cc;
identifier result;
expression mm, addr, pmd;
@@
collapse_huge_page(...) {
<...
  result = check_pmd_still_valid(mm, addr, pmd);
+ if (unmap_scan_no_table(result) && !cc->is_khugepaged && unmap_refilled_at(mm, addr))
+ 	result = check_pmd_still_valid(mm, addr, pmd);
...>
}

@swapin@
symbol cc;
identifier result;
@@
collapse_huge_page(...) {
<...
  result = __collapse_huge_page_swapin(...);
+ if (unmap_scan_no_table(result) && !cc->is_khugepaged && unmap_table_may_go())
+ 	result = SCAN_PAGE_LOCK;
...>
}
