// SPDX-License-Identifier: GPL-2.0-only
/// Tell zap that MADV_DONTNEED holds the mmap lock.
///
/// Target:   mm/madvise.c, madvise_dontneed_single_vma()
/// Why here: zap notes empty page tables only if it knows that its caller holds a lock that
///           excludes free_pgtables(); other callers of zap_page_range_single() may hold none.
/// Missing:  MADV_DONTNEED leaves empty page tables.

@@
expression V, S, L;
@@
madvise_dontneed_single_vma(...) {
<...
- zap_page_range_single(V, S, L, NULL);
+ zap_page_range_single(V, S, L, UNMAP_ZAP_DONTNEED);
...>
}
