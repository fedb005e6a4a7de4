// SPDX-License-Identifier: GPL-2.0-only
/// Check that the PMD still points to a page table after taking the PMD lock.
///
/// Target:   mm/khugepaged.c, retract_page_tables()
/// Why here: the function has seen a table before it takes the PMD lock, and then derives the
///           page-table lock from whatever the PMD holds by then.
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
