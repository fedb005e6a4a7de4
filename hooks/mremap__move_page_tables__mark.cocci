// SPDX-License-Identifier: GPL-2.0-only
/// mremap() takes along that a page table was given back.
///
/// Target:   mm/mremap.c, get_old_pmd() and move_page_tables()
/// Why here: they pass over a none PMD; a table, empty as it may be, would be moved, or
///           another one made for what comes from it.
/// Missing:  memory that was moved takes huge pages.

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
symbol vma, old_pmd, new_pmd, extent;
@@
move_page_tables(...) {
<...
- if (pmd_none(*old_pmd))
+ if (pmd_none(*old_pmd)) {
+ 	unmap_pmd_move(vma->vm_mm, old_pmd, new_pmd, extent == PMD_SIZE);
  	continue;
+ }
...>
}
