// SPDX-License-Identifier: GPL-2.0-only
/// What khugepaged or MADV_COLLAPSE has made huge is mapped huge, mark or no mark.
///
/// Target:   mm/khugepaged.c, collapse_pte_mapped_thp()
/// Why here: without a table it goes on to map the folio by a PMD, or leaves that to the
///           next fault, as it does when it has removed a table.
/// Missing:  MADV_COLLAPSE fails, with do_set_pmd() refusing.

@@
symbol mm, pmd;
@@
collapse_pte_mapped_thp(...) {
<...
+ unmap_pmd_forget(mm, pmd);
  goto maybe_install_pmd;
...>
}
