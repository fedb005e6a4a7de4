// SPDX-License-Identifier: GPL-2.0-only
/// Make the lock of a cluster's swap counts visible to mm/unmap/evict/swap_refs.c.
///
/// Target:   mm/swapfile.c, lock_cluster_or_swap_info() and its counterpart
/// Why here: which lock it is depends on the device; a copy of that decision would have to
///           change whenever this one does.
/// Missing:  mm/unmap/evict/swap_refs.c does not link.
//
// Each is declared before it is defined; both lose their "static".  The kernel's "inline" is
// gnu_inline: one function is emitted to link with, and stock callers inline it as before.

@declared@
type T;
identifier f = {lock_cluster_or_swap_info, unlock_cluster_or_swap_info};
@@
- static T
+ T
  f(...);

@defined@
type T;
identifier f = {lock_cluster_or_swap_info, unlock_cluster_or_swap_info};
@@
- static inline T
+ inline T
  f(...) { ... }
