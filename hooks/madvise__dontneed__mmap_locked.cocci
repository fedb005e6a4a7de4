// SPDX-License-Identifier: GPL-2.0-only
/// MADV_DONTNEED says that the mmap lock is held.
///
/// Target:   mm/madvise.c, madvise_dontneed_single_vma()
/// Why here: what is discarded leaves empty page tables, which are given back only where the
///           caller is known to hold a lock that keeps free_pgtables() away; others who call
///           zap_page_range_single() may hold none.
/// Missing:  MADV_DONTNEED leaves its empty page tables.

@@
expression V, S, L;
@@
madvise_dontneed_single_vma(...) {
<...
- zap_page_range_single(V, S, L, NULL);
+ zap_page_range_single(V, S, L, UNMAP_ZAP_DONTNEED);
...>
}
