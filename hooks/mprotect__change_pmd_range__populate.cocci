// SPDX-License-Identifier: GPL-2.0-only
/// userfaultfd's write-protection begins again if the page table goes before it is marked.
///
/// Target:   mm/mprotect.c, change_pmd_range()
/// Why here: it has allocated the table for the markers, and passes over it if it is gone.
/// Missing:  write-protection of a file's memory is lost.

@@
@@
change_pmd_range(...) {
<...
+ if (unmap_tables_may_go() && pmd_none(*pmd) && pgtable_populate_needed(vma, cp_flags))
+ 	goto again;
  if (pmd_none(*pmd))
  	goto next;
...>
}
