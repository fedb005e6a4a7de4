// SPDX-License-Identifier: GPL-2.0-only
/// Let UFFDIO_MOVE try again if one of its page tables was freed (Linux 7.3).
///
/// Target:   mm/userfaultfd.c, move_pages_ptes()
/// Why here: stock compares the PMD again under the locks, but reports a PMD that has become none
///           before that as an error of its caller.
/// Missing:  UFFDIO_MOVE fails with -EINVAL although nothing is wrong with its arguments.

@@
identifier ret;
expression S, D;
@@
move_pages_ptes(...) {
<...
+ if (!unmap_is_table(D) || !unmap_is_table(S)) {
+ 	ret = -EAGAIN;
+ 	goto out;
+ }
  if (pmd_none(*D) || pmd_none(*S) || pmd_trans_huge(*D) || pmd_trans_huge(*S)) {
  	ret = -EINVAL;
  	goto out;
  }
...>
}
