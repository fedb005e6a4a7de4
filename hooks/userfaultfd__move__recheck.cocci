// SPDX-License-Identifier: GPL-2.0-only
/// UFFDIO_MOVE sees whether the table it moves a page to is still there.
///
/// Target:   mm/userfaultfd.c, move_present_pte(), move_swap_pte(), move_zeropage_pte(),
///           move_pages_pte()
/// Why here: both tables are mapped before they are locked.  The source's entry tells that
///           its table is in use; the destination's is none, as all are in a table that
///           is gone.
/// Missing:  a page is moved into a table that is gone, and lost; a PMD found none where
///           a table was warns.

@gone@
identifier fn = {move_present_pte, move_swap_pte, move_zeropage_pte};
@@
fn(...) {
<...
- !pte_same(ptep_get(dst_pte), orig_dst_pte)
+ unmap_table_gone(dst_pte) || !pte_same(ptep_get(dst_pte), orig_dst_pte)
...>
}

@none@
expression S, D;
@@
move_pages_pte(...) {
<...
- if (WARN_ON_ONCE(pmd_none(*D)) || WARN_ON_ONCE(pmd_none(*S)) ||
-     WARN_ON_ONCE(pmd_trans_huge(*D)) || WARN_ON_ONCE(pmd_trans_huge(*S))) {
- 	err = -EINVAL;
+ if (!unmap_is_table(D) || !unmap_is_table(S)) {
+ 	err = -EAGAIN;
  	goto out;
  }
...>
}
