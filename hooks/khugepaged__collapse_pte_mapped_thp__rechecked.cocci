// SPDX-License-Identifier: GPL-2.0-only
/// Hold the PMD lock from the second mapping of the page table on where that is compared again.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp() (Linux 6.18) or
///           try_collapse_pte_mapped_thp()
/// Why here: stock compares the PMD again under the locks, but not where both are one lock (no
///           split page-table locks): it drops that lock before it removes the table.  If the
///           table has been freed before the second mapping, the result must be SCAN_PAGE_LOCK
///           ("try again"), and "pml != ptl" is false although no table is mapped: pml must be
///           dropped then.
/// Missing:  a freed table is freed a second time; the PMD lock stays locked.
//
// Stock's comment that the locks prevent a missing table goes together with the goto.

@early@
identifier fn = {collapse_pte_mapped_thp, try_collapse_pte_mapped_thp};
expression vma, mm, pmd;
@@
fn(...) {
<...
- if (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED))
+ if (unmap_table_may_go() || (userfaultfd_armed(vma) && !(vma->vm_flags & VM_SHARED)))
  pml = pmd_lock(mm, pmd);
...>
}

@retry@
identifier fn = {collapse_pte_mapped_thp, try_collapse_pte_mapped_thp};
identifier start, out;
@@
fn(...) {
<...
  start = \(pte_offset_map_lock\|pte_offset_map_rw_nolock\)(...);
- if (!start)
- 	goto out;
+ if (!start) {
+ 	if (unmap_table_may_go())
+ 		result = SCAN_PAGE_LOCK;
+ 	goto out;
+ }
...>
}

@leave@
identifier fn = {collapse_pte_mapped_thp, try_collapse_pte_mapped_thp};
identifier start;
@@
fn(...) {
<...
  if (start)
  	pte_unmap_unlock(start, ptl);
- if (pml && pml != ptl)
+ if (pml && (pml != ptl || (IS_ENABLED(CONFIG_UNMAP_TABLES) && !start)))
  	spin_unlock(pml);
...>
}
