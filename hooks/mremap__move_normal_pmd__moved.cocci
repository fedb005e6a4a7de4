// SPDX-License-Identifier: GPL-2.0-only
/// Tell where a page table is that waits, when mremap() has moved it whole.
///
/// Target:   mm/mremap.c, move_normal_pmd()
/// Why here: the table is in its new PMD; the mmap lock is held for writing.
/// Missing:  the table is searched for where it was, and stays until it is emptied again.

@@
identifier A, O, N;
expression M, P;
@@
move_normal_pmd(..., unsigned long A, pmd_t *O, pmd_t *N) {
<...
  pmd_populate(M, N, P);
+ unmap_table_moved(M, P, A);
...>
}
