// SPDX-License-Identifier: GPL-2.0-only
/// retract_page_tables() looks for the table again once it has the PMD lock.
///
/// Target:   mm/khugepaged.c, retract_page_tables()
/// Why here: it has seen a table before it took the lock, and then takes the lock in the
///           descriptor of whatever the PMD holds by then.
/// Missing:  it follows a PMD that is none.

@lock@
expression mm, pmd;
@@
retract_page_tables(...) {
<...
- ptl = pte_lockptr(mm, pmd);
+ ptl = unmap_lockptr(mm, pmd, pml);
...>
}

@state@
expression vma;
@@
retract_page_tables(...) {
<...
- unlikely(vma->anon_vma || userfaultfd_wp(vma))
+ unlikely(vma->anon_vma || userfaultfd_wp(vma) || !unmap_is_table(pmd))
...>
}
