// SPDX-License-Identifier: GPL-2.0-only
/// userfaultfd's write-protection begins again if the page table goes before it is marked.
///
/// Target:   mm/mprotect.c, change_pmd_range()
/// Why here: it has allocated the table for the markers, and passes over it if it is gone.
/// Missing:  write-protection of a file's memory is lost.

@initialize:python@
@@
fired = 0

@already@
@@
change_pmd_range(...) {
<+... unmap_tables_may_go() ...+>
}

@again depends on !already@
position p;
@@
change_pmd_range(...) {
<...
+ if (unmap_tables_may_go() && pmd_none(*pmd) && pgtable_populate_needed(vma, cp_flags))
+ 	goto again;
  if (pmd_none@p(*pmd))
  	goto next;
...>
}

@script:python@
p << again.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("change_pmd_range() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
