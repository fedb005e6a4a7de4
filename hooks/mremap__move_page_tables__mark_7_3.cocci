// SPDX-License-Identifier: GPL-2.0-only
/// Move the mark of a freed page table along with the memory (Linux 7.3).
///
/// Target:   mm/mremap.c, get_old_pmd() and move_page_tables()
/// Why here: both skip a PMD that is none.  An empty table would have been moved, or its entries
///           would have got a new one.
/// Missing:  memory that was moved gets huge pages that stock would not give it.

@look@
identifier pmd;
@@
get_old_pmd(...) {
<...
if (
-   pmd_none(*pmd)
+   unmap_pmd_untouched(*pmd)
   ) return NULL;
...>
}

@move@
symbol mm, old_pmd, new_pmd, extent;
@@
move_page_tables(...) {
<...
- if (pmd_none(*old_pmd))
+ if (pmd_none(*old_pmd)) {
+ 	unmap_pmd_move(mm, old_pmd, new_pmd, extent == PMD_SIZE);
  	continue;
+ }
...>
}
