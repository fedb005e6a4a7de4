// SPDX-License-Identifier: GPL-2.0-only
/// In kernels built for tests, let pte_offset_map_lock() fail on demand.
///
/// Target:   mm/pgtable-generic.c, __pte_offset_map_lock(), since 7.3 pte_offset_map_lock()
/// Why here: all readers that lock a table come through it.
/// Missing:  that a caller tries again is tested only where a race happens to free its table.

@include@
@@
#include <linux/mm_inline.h>
+#include <linux/unmap.h>

@fails@
expression M, A, V;
identifier fn = {__pte_offset_map_lock, pte_offset_map_lock};
identifier pte;
@@
fn(...) {
<...
- pte = __pte_offset_map(M, A, V);
+ pte = unmap_map_fails() ? NULL : __pte_offset_map(M, A, V);
...>
}
