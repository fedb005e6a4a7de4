// SPDX-License-Identifier: GPL-2.0-only
/// Take a page table out of the list of those that wait before MADV_DONTNEED frees it (Linux 7.3).
///
/// Target:   mm/memory.c, zap_pte_range()
/// Why here: stock frees here what one MADV_DONTNEED has emptied, while mm/unmap/ is switched off; the
///           table may have begun to wait before that.
/// Missing:  the list leads to pages that were freed.

@@
expression G, T, A;
@@
zap_pte_range(...) {
<...
+ unmap_table_leave(G->mm, T);
  pte_free_tlb(G, T, A);
...>
}
