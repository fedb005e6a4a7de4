// SPDX-License-Identifier: GPL-2.0-only
/// A file's huge folio is mapped by a table where one was given back.
///
/// Target:   mm/memory.c, do_set_pmd()
/// Why here: finish_fault() and filemap_map_pmd() both come here, and map entries where
///           it says that there is something already.
/// Missing:  a file's memory that was purged in pieces is mapped by a PMD again.

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
