// SPDX-License-Identifier: GPL-2.0-only
/// Hand clear_shadow_from_swap_cache() over to mm/unmap/linux_6_12/shadows.c.
///
/// Target:   mm/swap_state.c, clear_shadow_from_swap_cache()
/// Why here: swap entries are freed in runs, but stock clears their shadows one by one.
/// Missing:  two definitions of the function: the kernel does not link.
//
// The stock function becomes stock_clear_shadow_from_swap_cache().  It serves while the switch
// is off, single entries, and ranges that hold more than shadows.

@@
@@
- void clear_shadow_from_swap_cache
+ void stock_clear_shadow_from_swap_cache
  (...) { ... }
