// SPDX-License-Identifier: GPL-2.0-only
/// mremap() takes along that a page table was given back.
///
/// Target:   mm/mremap.c, get_old_pmd() and move_page_tables()
/// Why here: they pass over a none PMD; a table, empty as it may be, would be moved, or
///           another one made for what comes from it.
/// Missing:  memory that was moved takes huge pages.

@initialize:python@
@@
fired = 0

@look@
identifier pmd;
position p;
@@
get_old_pmd(...) {
<...
if (
-   pmd_none@p(*pmd)
+   unmap_pmd_untouched(*pmd)
   ) return NULL;
...>
}

@already@
@@
move_page_tables(...) {
<+... unmap_pmd_move(...) ...+>
}

@move depends on !already@
symbol vma, old_pmd, new_pmd, extent;
position p;
@@
move_page_tables(...) {
<...
- if (pmd_none@p(*old_pmd))
+ if (pmd_none(*old_pmd)) {
+ 	unmap_pmd_move(vma->vm_mm, old_pmd, new_pmd, extent == PMD_SIZE);
  	continue;
+ }
...>
}

@script:python@
p << look.p;
@@
fired += 1

@script:python@
p << move.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 2:
    sys.stderr.write("move_page_tables() changed in %d places, want 2\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
