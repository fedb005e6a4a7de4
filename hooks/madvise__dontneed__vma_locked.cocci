// SPDX-License-Identifier: GPL-2.0-only
/// Tell zap that MADV_DONTNEED holds the lock of the VMA (since Linux 6.18).
///
/// Target:   mm/madvise.c, madvise_dontneed_single_vma()
/// Why here: zap notes empty page tables only if it knows that its caller holds a lock that
///           excludes free_pgtables().  Here that is the mmap lock or only the lock of the VMA.
/// Missing:  MADV_DONTNEED leaves empty page tables.

@@
identifier details;
@@
madvise_dontneed_single_vma(...) {
<...
  struct zap_details details = {
  	.reclaim_pt = true,
+ 	.zap_flags = UNMAP_ZAP_MADVISE,
  };
...>
}
