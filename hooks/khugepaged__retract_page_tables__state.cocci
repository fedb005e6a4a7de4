// SPDX-License-Identifier: GPL-2.0-only
/// retract_page_tables() looks for the table again once it has the PMD lock.
///
/// Target:   mm/khugepaged.c, retract_page_tables()
/// Why here: it has seen a table before it took the lock, and then takes the lock in the
///           descriptor of whatever the PMD holds by then.
/// Missing:  it follows a PMD that is none.

@initialize:python@
@@
fired = 0

@lock@
expression mm, pmd;
position p;
@@
retract_page_tables(...) {
<...
- ptl = pte_lockptr@p(mm, pmd);
+ ptl = unmap_lockptr(mm, pmd, pml);
...>
}

@state@
expression vma;
position p;
@@
retract_page_tables(...) {
<...
- unlikely@p(vma->anon_vma || userfaultfd_wp(vma))
+ unlikely(vma->anon_vma || userfaultfd_wp(vma) || !unmap_is_table(pmd))
...>
}

@script:python@
p << lock.p;
@@
fired += 1

@script:python@
p << state.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 2:
    sys.stderr.write("retract_page_tables() changed in %d places, want 2\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
