// SPDX-License-Identifier: GPL-2.0-only
/// Remove the mark of a freed page table where a file has been collapsed (Linux 7.3).
///
/// Target:   mm/khugepaged.c, retract_page_tables()
/// Why here: stock would have removed the table here, and with it what the mark stands for.
/// Missing:  other processes go on mapping the collapsed file by PTEs.

@@
expression mm, addr;
identifier pmd;
symbol vma;
@@
retract_page_tables(...) {
<...
- if (find_pmd_or_thp_or_none(mm, addr, &pmd) != SCAN_SUCCEED)
+ if (find_pmd_or_thp_or_none(mm, addr, &pmd) != SCAN_SUCCEED) {
+ 	if (unmap_pmd_has_mark(pmd) && file_backed_vma_is_retractable(vma))
+ 		unmap_pmd_forget(mm, pmd);
  	continue;
+ }
...>
}
