// SPDX-License-Identifier: GPL-2.0-only
/// Hand try_to_unmap() over to mm/unmap/evict/evict.c.
///
/// Target:   mm/rmap.c, try_to_unmap()
/// Why here: every caller (reclaim, memory failure, truncation, THP split, khugepaged) calls it
///           with the folio locked.
/// Missing:  two definitions of try_to_unmap(): the kernel does not link.
//
// The stock function becomes stock_try_to_unmap().  It serves while the switch is off, and
// whatever evict.c does not handle.

@@
@@
- void try_to_unmap
+ void stock_try_to_unmap
  (...) { ... }
