// SPDX-License-Identifier: GPL-2.0-only
/// Hand folio_referenced() over to mm/unmap/evict/reference.c.
///
/// Target:   mm/rmap.c, folio_referenced()
/// Why here: reclaim's only way to learn whether a folio's mappings were used; what is above it
///           does not see entries.
/// Missing:  Kconfig leaves out reference.c; reclaim looks at large folios entry by entry.
//
// The stock function becomes stock_folio_referenced(), which serves while the switch is off.
// Linux 7.3 looks at entries in batches itself.

@@
@@
- int folio_referenced
+ int stock_folio_referenced
  (...) { ... }
