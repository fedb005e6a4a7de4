// SPDX-License-Identifier: GPL-2.0-only
/// In kernels built for tests, a page table that is looked for is missing on demand.
///
/// Target:   mm/pgtable-generic.c, __pte_offset_map_lock()
/// Why here: all who call pte_offset_map_lock() come through it.
/// Missing:  whether they try again is seen only where a race takes a table away from them.

@initialize:python@
@@
fired = 0

@include@
position p;
@@
#include <linux/mm_inline.h>@p
+#include <linux/unmap.h>

@fails@
expression M, A, V;
identifier pte;
position p;
@@
__pte_offset_map_lock(...) {
<...
- pte = __pte_offset_map@p(M, A, V);
+ pte = unmap_map_fails() ? NULL : __pte_offset_map(M, A, V);
...>
}

@script:python@
p << include.p;
@@
fired += len(p)

@script:python@
p << fails.p;
@@
fired += len(p)

@finalize:python@
@@
import sys
if fired != 2:
    sys.stderr.write("mm/pgtable-generic.c changed in %d places, want 2\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
