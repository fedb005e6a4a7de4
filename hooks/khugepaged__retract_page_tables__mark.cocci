// SPDX-License-Identifier: GPL-2.0-only
/// What khugepaged has made huge is mapped huge where a page table was given back before.
///
/// Target:   mm/khugepaged.c, retract_page_tables()
/// Why here: it would remove the table, had it stayed.
/// Missing:  other processes map a collapsed file by entries.

@@
expression mm, addr;
identifier pmd;
symbol vma;
@@
retract_page_tables(...) {
<...
- if (find_pmd_or_thp_or_none(mm, addr, &pmd) != SCAN_SUCCEED)
+ if (find_pmd_or_thp_or_none(mm, addr, &pmd) != SCAN_SUCCEED) {
+ 	if (!userfaultfd_wp(vma))
+ 		unmap_pmd_forget(mm, pmd);
  	continue;
+ }
...>
}
