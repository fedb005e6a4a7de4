// SPDX-License-Identifier: GPL-2.0-only
/// Hold the PMD lock from the second mapping of the page table on.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp()
/// Why here: the function maps the table a second time without the PMD lock, assumes that it is
///           still there, and takes the PMD lock only to remove it.  If the table has been freed
///           meanwhile, the result must be SCAN_PAGE_LOCK ("try again").  Without split page-table
///           locks, "pml != ptl" is false although no table is mapped: pml must be dropped then.
/// Missing:  a freed table is freed a second time; the PMD lock stays locked.
//
// Stock's comment that the locks prevent a missing table goes together with the goto.

@early@
expression vma, mm, pmd;
@@
collapse_pte_mapped_thp(...) {
<...
- if (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED))
+ if (unmap_table_may_go() || (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED)))
  pml = pmd_lock(mm, pmd);
...>
}

@retry@
identifier start, out;
@@
collapse_pte_mapped_thp(...) {
<...
  start = \(pte_offset_map_lock\|pte_offset_map_nolock\)(...);
- if (!start)
- 	goto out;
+ if (!start) {
+ 	result = SCAN_PAGE_LOCK;
+ 	goto out;
+ }
...>
}

@leave@
identifier start;
@@
collapse_pte_mapped_thp(...) {
<...
  if (start)
  	pte_unmap_unlock(start, ptl);
- if (pml && pml != ptl)
+ if (pml && (!start || pml != ptl))
  	spin_unlock(pml);
...>
}
