// SPDX-License-Identifier: GPL-2.0-only
/// Hand zap_pmd_range() over to mm/unmap/discard_tables.c.
///
/// Target:   mm/memory.c, zap_pmd_range()
/// Why here: munmap(), exit, MADV_DONTNEED, truncation and the OOM reaper all call it, once for
///           each gigabyte, so that neighbouring empty tables can be freed together.
/// Missing:  zap_pmd_range() is a macro of <linux/unmap.h>; the stock definition does not parse.
//
// The stock function becomes stock_zap_pmd_range(), which serves while the switch is off.  It
// stays static and is still inlined: switched off, the hook costs one static branch.

@@
@@
- static inline unsigned long zap_pmd_range
+ static inline unsigned long stock_zap_pmd_range
  (...) { ... }
