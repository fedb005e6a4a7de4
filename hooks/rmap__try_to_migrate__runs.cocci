// SPDX-License-Identifier: GPL-2.0-only
/// Hand try_to_migrate() over to mm/unmap/relocate/relocate.c.
///
/// Target:   mm/rmap.c, try_to_migrate()
/// Why here: migration and the splitting of folios call it, with the folio locked.
/// Missing:  two definitions of try_to_migrate(): the kernel does not link.
//
// The stock function becomes stock_try_to_migrate().  It serves while the switch is off, and
// hugetlb and device memory.

@@
@@
- void try_to_migrate
+ void stock_try_to_migrate
  (...) { ... }
