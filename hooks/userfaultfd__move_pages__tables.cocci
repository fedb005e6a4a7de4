// SPDX-License-Identifier: GPL-2.0-only
/// Free the page tables that UFFDIO_MOVE leaves empty.
///
/// Target:   mm/userfaultfd.c, move_pages()
/// Why here: the whole range has been moved, and the VMA lock still excludes free_pgtables().
/// Missing:  the source's tables stay until the source is unmapped.

@@
@@
move_pages(...) {
<...
+ if (moved)
+ 	unmap_sweep_vma_range(src_vma, src_start, src_start + moved);
  uffd_move_unlock(dst_vma, src_vma);
...>
}
