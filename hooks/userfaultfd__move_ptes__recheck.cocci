// SPDX-License-Identifier: GPL-2.0-only
/// Let UFFDIO_MOVE try again if one of its page tables was freed (since Linux 6.18).
///
/// Target:   mm/userfaultfd.c, move_pages_ptes()
/// Why here: stock compares the PMD again under the locks, but reports a PMD that has become none
///           or huge before that as an error of its caller.  A freed table leaves room for a huge
///           page.  move_pages() looks at both PMDs when it tries again, and decides about holes
///           and huge pages.
/// Missing:  UFFDIO_MOVE fails with -EINVAL although nothing is wrong with its arguments.

@@
identifier ret;
expression S, D;
@@
move_pages_ptes(...) {
<...
  if (pmd_none(*D) || pmd_none(*S) || pmd_trans_huge(*D) || pmd_trans_huge(*S)) {
- 	ret = -EINVAL;
+ 	ret = unmap_table_may_go() ? -EAGAIN : -EINVAL;
  	goto out;
  }
...>
}
