// SPDX-License-Identifier: GPL-2.0-only
/// Begin again if the page table for userfaultfd's markers was freed (Linux 7.3).
///
/// Target:   mm/mprotect.c, change_pmd_range()
/// Why here: the function has allocated the table for the markers, and skips the 2 MiB if the
///           table is gone.  The PMD is read once: of two reads, only the second might find the
///           table gone.
/// Missing:  write-protection of a file's memory is lost.

@@
@@
change_pmd_range(...) {
<...
- if (pmd_none(*pmd))
+ if (pmd_none(*pmd)) {
+ 	if (unmap_table_may_go() && pgtable_populate_needed(vma, cp_flags))
+ 		goto again;
  	goto next;
+ }
...>
}
