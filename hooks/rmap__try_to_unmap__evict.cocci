// SPDX-License-Identifier: GPL-2.0-only
/// Hand try_to_unmap() over to mm/unmap/evict.c.
///
/// Target:   mm/rmap.c, try_to_unmap()
/// Why here: every caller (reclaim, memory failure, truncation, THP split,
///           khugepaged) comes through it, with the folio locked.
/// Missing:  two definitions of try_to_unmap(), the kernel does not link.
//
// The stock function becomes stock_try_to_unmap(): what the switch is off for,
// and what evict.c does not handle, goes there.

@initialize:python@
@@
fired = 0

@already@
@@
void stock_try_to_unmap(...) { ... }

@rename depends on !already@
position p;
@@
- void try_to_unmap
+ void stock_try_to_unmap
  (...) {@p ... }

@script:python@
p << rename.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("try_to_unmap() renamed %d times, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
