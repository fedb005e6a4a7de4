// SPDX-License-Identifier: GPL-2.0-only
/// In kernels built for tests, a page table that is looked for is missing on demand.
///
/// Target:   mm/pgtable-generic.c, __pte_offset_map_lock()
/// Why here: all who call pte_offset_map_lock() come through it.
/// Missing:  whether they try again is seen only where a race takes a table away from them.

@include@
@@
#include <linux/mm_inline.h>
+#include <linux/unmap.h>

@fails@
expression M, A, V;
identifier pte;
@@
__pte_offset_map_lock(...) {
<...
- pte = __pte_offset_map(M, A, V);
+ pte = unmap_map_fails() ? NULL : __pte_offset_map(M, A, V);
...>
}
