// SPDX-License-Identifier: GPL-2.0-only
/// Include <linux/unmap.h> where stock functions get callers outside.
///
/// Target:   mm/swapfile.c, its #includes
/// Why here: the compiler compares what is declared there with what is here.
/// Missing:  a signature that changes goes unnoticed.

@initialize:python@
@@
fired = 0

@already@
@@
#include <linux/unmap.h>

@insert depends on !already@
position p;
@@
#include <linux/swap_cgroup.h>@p
+#include <linux/unmap.h>

@script:python@
p << insert.p;
@@
fired += 1

@finalize:python@
@@
import sys
if fired != 1:
    sys.stderr.write("<linux/unmap.h> included %d times, want 1\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
