// SPDX-License-Identifier: GPL-2.0-only
/// Hand try_to_unmap_flush() over to mm/unmap/tables_kept.c.
///
/// Target:   mm/rmap.c, try_to_unmap_flush()
/// Why here: reclaim has flushed what it has unmapped, many tables' worth, and holds no
///           locks: page tables it left empty can go, together.
/// Missing:  two definitions of it, the kernel does not link.

@initialize:python@
@@
fired = 0

@already@
@@
void stock_try_to_unmap_flush(...) { ... }

@rename depends on !already@
position p;
@@
- void try_to_unmap_flush
+ void stock_try_to_unmap_flush
  (...) {@p ... }

@script:python@
p << rename.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("try_to_unmap_flush() renamed %d times, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
