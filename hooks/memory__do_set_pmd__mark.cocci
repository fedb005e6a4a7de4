// SPDX-License-Identifier: GPL-2.0-only
/// Map a huge folio of a file by PTEs where a page table was freed.
///
/// Target:   mm/memory.c, do_set_pmd()
/// Why here: finish_fault() and filemap_map_pmd() both call it, and both fall back to PTEs if it
///           finds the PMD in use.
/// Missing:  file memory that was purged in pieces is mapped by a PMD afterwards.

@@
identifier vmf;
@@
do_set_pmd(...) {
<...
if (unlikely(
-     !pmd_none(*vmf->pmd)
+     !unmap_pmd_untouched(*vmf->pmd)
   )) goto out;
...>
}
