// SPDX-License-Identifier: GPL-2.0-only
/// Check that the page tables of UFFDIO_MOVE are still there after locking them.
///
/// Target:   mm/userfaultfd.c, move_present_pte(), move_swap_pte(), move_zeropage_pte(),
///           move_pages_pte()
/// Why here: both tables are mapped before they are locked.  The source's entry is in use, which
///           proves that its table is.  The destination's entry is none, as all entries of a freed
///           table are.
/// Missing:  a page is moved into a freed table and lost; a PMD that has become none warns.

@gone@
identifier fn = {move_present_pte, move_swap_pte, move_zeropage_pte};
@@
fn(...) {
<...
- !pte_same(ptep_get(dst_pte), orig_dst_pte)
+ unmap_table_gone(mm, dst_addr, dst_pte) || !pte_same(ptep_get(dst_pte), orig_dst_pte)
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
