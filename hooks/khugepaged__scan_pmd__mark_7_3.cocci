// SPDX-License-Identifier: GPL-2.0-only
/// Let MADV_COLLAPSE collapse memory whose page table was freed (Linux 7.3).
///
/// Target:   mm/khugepaged.c, collapse_scan_pmd(), collapse_huge_page(),
///           __collapse_huge_page_swapin()
/// Why here: MADV_COLLAPSE makes a huge page of an empty table, and skips a missing one.
///           khugepaged passes over both.  The mmap lock is dropped after the scan, to allocate
///           the huge page, and again before it is taken for writing: the table may be freed
///           there, too.  Then the PMD is looked up again, since it is known only under that lock.
///           Where swapping in finds the table gone, MADV_COLLAPSE returns -EAGAIN, not -EINVAL.
/// Missing:  MADV_COLLAPSE of memory that was purged in pieces fails.

@look@
symbol cc;
identifier fn = {collapse_scan_pmd, collapse_huge_page};
identifier result, pmd;
expression mm, addr;
@@
fn(...) {
<...
  result = find_pmd_or_thp_or_none(mm, addr, &pmd);
+ if (result == SCAN_NO_PTE_TABLE && !cc->is_khugepaged && unmap_pmd_refilled(mm, pmd))
+ 	result = SCAN_SUCCEED;
...>
}

@lock@
expression M, P, A, L;
@@
collapse_scan_pmd(...) {
<...
- pte_offset_map_lock(M, P, A, L)
+ unmap_fault_map_lock(M, P, A, L)
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
+ if (result == SCAN_NO_PTE_TABLE && !cc->is_khugepaged && unmap_refilled_at(mm, addr))
+ 	result = check_pmd_still_valid(mm, addr, pmd);
...>
}

@swapin@
identifier result;
@@
__collapse_huge_page_swapin(...) {
<...
- result = SCAN_NO_PTE_TABLE;
+ result = unmap_table_may_go() ? SCAN_PAGE_LOCK : SCAN_NO_PTE_TABLE;
...>
}
