// SPDX-License-Identifier: GPL-2.0-only
/// Hand clear_shadow_from_swap_cache() over to mm/unmap/shadows.c.
///
/// Target:   mm/swap_state.c, clear_shadow_from_swap_cache()
/// Why here: freed swap entries come through it in runs, and leave one by one.
/// Missing:  two definitions of it, the kernel does not link.
//
// The stock function becomes stock_clear_shadow_from_swap_cache(): what the
// switch is off for, single entries, and ranges that hold more than shadows.

@@
@@
- void clear_shadow_from_swap_cache
+ void stock_clear_shadow_from_swap_cache
  (...) { ... }
