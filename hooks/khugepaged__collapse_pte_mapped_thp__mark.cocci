// SPDX-License-Identifier: GPL-2.0-only
/// Remove the mark of a freed page table where a folio has been collapsed.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp(), since 7.3 try_collapse_pte_mapped_thp()
/// Why here: if the table is missing, the function maps the folio by a PMD or leaves that to
///           the next fault, as it does after removing a table itself.
/// Missing:  MADV_COLLAPSE fails: do_set_pmd() refuses to install a PMD over a mark.

@@
identifier fn = {collapse_pte_mapped_thp, try_collapse_pte_mapped_thp};
symbol mm, pmd;
@@
fn(...) {
<...
+ unmap_pmd_forget(mm, pmd);
  goto maybe_install_pmd;
...>
}
