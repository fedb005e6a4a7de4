// SPDX-License-Identifier: GPL-2.0-only
/// Give back the page tables that UFFDIO_MOVE leaves empty.
///
/// Target:   mm/userfaultfd.c, move_pages()
/// Why here: the whole range is done, and its VMA is still locked: it cannot go, nor can
///           free_pgtables() come for the tables.
/// Missing:  the source's tables stay until it is unmapped.

@initialize:python@
@@
fired = 0

@already@
@@
move_pages(...) {
<+... unmap_tables_left(...) ...+>
}

@left depends on !already@
position p;
@@
move_pages(...) {
<...
+ if (moved)
+ 	unmap_tables_left(src_vma, src_start, src_start + moved);
  uffd_move_unlock@p(dst_vma, src_vma);
...>
}

@script:python@
p << left.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("move_pages() changed in %d places, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
