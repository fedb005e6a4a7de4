// SPDX-License-Identifier: GPL-2.0-only
/// Move the mark of a freed page table along with the memory.
///
/// Target:   mm/mremap.c, get_old_pmd() and move_page_tables()
/// Why here: both skip a PMD that is none.  An empty table would have been moved, or its entries
///           would have got a new one.
/// Missing:  memory that was moved gets huge pages that stock would not give it.
//
// M is the mm that is moved in: vma->vm_mm, since 7.3 a variable.

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

@mm@
expression M;
symbol old_pmd;
@@
move_page_tables(...) {
<...
  old_pmd = get_old_pmd(M, ...);
...>
}

@move@
expression mm.M;
symbol old_pmd, new_pmd, extent;
@@
move_page_tables(...) {
<...
- if (pmd_none(*old_pmd))
+ if (pmd_none(*old_pmd)) {
+ 	unmap_pmd_move(M, old_pmd, new_pmd, extent == PMD_SIZE);
  	continue;
+ }
...>
}
