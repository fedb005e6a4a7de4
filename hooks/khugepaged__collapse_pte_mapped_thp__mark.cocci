// SPDX-License-Identifier: GPL-2.0-only
/// What khugepaged or MADV_COLLAPSE has made huge is mapped huge, mark or no mark.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp()
/// Why here: without a table it goes on to map the folio by a PMD, or leaves that to the
///           next fault, as it does when it has removed a table.
/// Missing:  MADV_COLLAPSE fails, with do_set_pmd() refusing.

@initialize:python@
@@
fired = 0

@already@
@@
collapse_pte_mapped_thp(...) {
<+... unmap_pmd_forget(...) ...+>
}

@forget depends on !already@
symbol mm, pmd;
position p;
@@
collapse_pte_mapped_thp(...) {
<...
+ unmap_pmd_forget(mm, pmd);
  goto maybe_install_pmd@p;
...>
}

@script:python@
p << forget.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("collapse_pte_mapped_thp() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
