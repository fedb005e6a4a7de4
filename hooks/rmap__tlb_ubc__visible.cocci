// SPDX-License-Identifier: GPL-2.0-only
/// Make the deferred-flush helpers visible to mm/unmap/flush.c.
///
/// Target:   mm/rmap.c, set_tlb_ubc_flush_pending() and should_defer_flush()
/// Why here: they keep the generations in mm->tlb_flush_batched; a second copy
///           of that protocol would have to change whenever this one does.
/// Missing:  mm/unmap/flush.c does not link.
//
// Each has two definitions, one for architectures that do not defer.

@initialize:python@
@@
fired = 0

@note@
type T;
position p;
@@
- static T
+ T
  set_tlb_ubc_flush_pending(...) {@p ... }

@defer@
type T;
position p;
@@
- static T
+ T
  should_defer_flush(...) {@p ... }

@script:python@
p << note.p;
@@
fired += 1

@script:python@
p << defer.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 4:
    sys.stderr.write("%d deferred-flush helpers made visible, want 4\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
