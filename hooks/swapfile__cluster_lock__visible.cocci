// SPDX-License-Identifier: GPL-2.0-only
/// Make the lock of a cluster's swap counts visible to mm/unmap/swap_refs.c.
///
/// Target:   mm/swapfile.c, lock_cluster_or_swap_info() and its counterpart
/// Why here: which lock it is depends on the device; a second copy of that
///           decision would have to change whenever this one does.
/// Missing:  mm/unmap/swap_refs.c does not link.
//
// Each is declared before it is defined; both lose their "static".  The kernel's
// "inline" is gnu_inline: there is one function to link with, and stock callers
// have theirs inlined as before.

@initialize:python@
@@
fired = 0

@declared@
type T;
identifier f =~ "^(un)?lock_cluster_or_swap_info$";
position p;
@@
- static T
+ T
  f@p(...);

@defined@
type T;
identifier f =~ "^(un)?lock_cluster_or_swap_info$";
position p;
@@
- static inline T
+ inline T
  f(...) {@p ... }

@script:python@
p << declared.p;
@@
fired += 1

@script:python@
p << defined.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 4:
    sys.stderr.write("cluster lock made visible %d times, want 4\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
