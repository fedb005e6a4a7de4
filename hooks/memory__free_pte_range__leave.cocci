// SPDX-License-Identifier: GPL-2.0-only
/// Take a page table out of the list of those that wait before it is freed.
///
/// Target:   mm/memory.c, free_pte_range()
/// Why here: munmap() and exit free each table here, after it was taken out of its PMD.
/// Missing:  the list leads to pages that were freed.

@@
expression G, T, A;
@@
free_pte_range(...) {
<...
+ unmap_table_leave(G->mm, T);
  pte_free_tlb(G, T, A);
...>
}
