// SPDX-License-Identifier: GPL-2.0-only
/// Include <linux/unmap.h> in all of mm/.
///
/// Target:   mm/internal.h, its #includes
/// Why here: all files that other hooks change include it, and nothing outside mm/.
/// Missing:  renamed functions are called, but not declared.

@initialize:python@
@@
fired = 0

@already@
@@
#include <linux/unmap.h>

@insert depends on !already@
position p;
@@
#include <linux/tracepoint-defs.h>@p
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
