// SPDX-License-Identifier: GPL-2.0-only
/// Collapsing what is mapped by entries keeps the PMD lock from its second look on.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp()
/// Why here: it maps the table a second time without its lock, takes for granted that it is still
///           there, and takes the PMD lock only to remove it; and where page tables have no locks of
///           their own it takes the PMD lock for the table's when there is no table.
///           Without a table MADV_COLLAPSE is to be told to try again, not that it must not.
/// Missing:  a table that was given back is freed a second time; the PMD lock stays locked.

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

@retry@
identifier start, out;
position p;
@@
collapse_pte_mapped_thp(...) {
<...
  start = \(pte_offset_map_lock\|pte_offset_map_nolock\)(...);
- if (!start@p)
+ if (!start) {
+ 	result = SCAN_PAGE_LOCK;
  	goto out;
+ }
...>
}

@leave@
identifier start;
position p;
@@
collapse_pte_mapped_thp(...) {
<...
  if (start)
  	pte_unmap_unlock(start, ptl);
- if (pml && pml@p != ptl)
+ if (pml && (!start || pml != ptl))
  	spin_unlock(pml);
...>
}

@script:python@
p << early.p;
@@
fired += len(p)

@script:python@
p << retry.p;
@@
fired += len(p)

@script:python@
p << leave.p;
@@
fired += len(p)

@finalize:python@
@@
import sys
if fired != 4:
    sys.stderr.write("collapse_pte_mapped_thp() changed in %d places, want 4\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
