// SPDX-License-Identifier: GPL-2.0-only
/// Give back the page tables that UFFDIO_MOVE leaves empty.
///
/// Target:   mm/userfaultfd.c, move_pages()
/// Why here: the whole range is done, and its VMA is still locked: it cannot go, nor can
///           free_pgtables() come for the tables.
/// Missing:  the source's tables stay until it is unmapped.

@@
@@
move_pages(...) {
<...
+ if (moved)
+ 	unmap_tables_left(src_vma, src_start, src_start + moved);
  uffd_move_unlock(dst_vma, src_vma);
...>
}
