// SPDX-License-Identifier: GPL-2.0-only
/// Make print_bad_pte() visible to mm/unmap/discard.c.
///
/// Target:   mm/memory.c, print_bad_pte()
/// Why here: a page that was unmapped more often than it was mapped is reported
///           as stock reports it, and as seldom.
/// Missing:  mm/unmap/discard.c does not link.

@initialize:python@
@@
fired = 0

@report@
position p;
@@
- static void print_bad_pte
+ void print_bad_pte
  (...) {@p ... }

@script:python@
p << report.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("print_bad_pte() made visible %d times, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
