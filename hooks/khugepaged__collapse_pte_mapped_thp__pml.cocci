// SPDX-License-Identifier: GPL-2.0-only
/// Collapsing what is mapped by entries keeps the PMD lock from its second look on.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp()
/// Why here: it maps the table a second time without its lock, takes for granted that it is still
///           there, and takes the PMD lock only to remove it; and where page tables have no locks of
///           their own it takes the PMD lock for the table's when there is no table.
///           Without a table MADV_COLLAPSE is to be told to try again, not that it must not.
/// Missing:  a table that was given back is freed a second time; the PMD lock stays locked.

@early@
expression vma, mm, pmd;
@@
collapse_pte_mapped_thp(...) {
<...
- if (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED))
+ if (unmap_tables_may_go() || (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED)))
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
+ if (!start) {
+ 	result = SCAN_PAGE_LOCK;
  	goto out;
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
