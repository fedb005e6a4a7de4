// SPDX-License-Identifier: GPL-2.0-only
/// Begin again if the page table for userfaultfd's markers was freed.
///
/// Target:   mm/mprotect.c, change_pmd_range()
/// Why here: the function has allocated the table for the markers, and skips the 2 MiB if the
///           table is gone.  The PMD is read once: of two reads, only the second might find the
///           table gone.
///           Others can free it each time, so a task that was killed does not go on.
/// Missing:  write-protection of a file's memory is lost.

@@
@@
change_pmd_range(...) {
<...
- if (pmd_none(*pmd))
+ if (pmd_none(*pmd)) {
+ 	if (unmap_table_may_go() && pgtable_populate_needed(vma, cp_flags) &&
+ 	    !fatal_signal_pending(current))
+ 		goto again;
  	goto next;
+ }
...>
}
