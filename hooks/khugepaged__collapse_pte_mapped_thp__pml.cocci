// SPDX-License-Identifier: GPL-2.0-only
/// collapse_pte_mapped_thp() holds the PMD lock from its second look at the table on.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp()
/// Why here: between its two looks, and before it takes the PMD lock to remove the table,
///           the table may be given back; with that lock held it cannot.  The function
///           can do so already, for userfaultfd.
/// Missing:  it removes a table that is gone, or another one.

@initialize:python@
@@
fired = 0

@early@
expression vma, mm, pmd;
position p;
@@
collapse_pte_mapped_thp(...) {
<...
- if (userfaultfd_armed@p(vma) && !(vma->vm_flags & VM_SHARED))
+ if (unmap_tables_may_go() || (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED)))
  pml = pmd_lock(mm, pmd);
...>
}

@script:python@
p << early.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("collapse_pte_mapped_thp() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
