// SPDX-License-Identifier: GPL-2.0-only
/// Make what counts the swap references of a range visible to mm/unmap/evict/evict_swap.c (Linux 7.3).
///
/// Target:   mm/swapfile.c, swap_dup_entries_cluster() and swap_put_entries_cluster()
/// Why here: they change the counts of several entries under one cluster lock.  Their callers
///           for folios offer one page, or all pages of a folio; a run is neither.
/// Missing:  mm/unmap/evict/evict_swap.c does not link.

@dup@
type T;
@@
- static T
+ T
  swap_dup_entries_cluster(...) { ... }

@put@
type T;
@@
- static T
+ T
  swap_put_entries_cluster(...) { ... }
