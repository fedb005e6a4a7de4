// SPDX-License-Identifier: GPL-2.0-only
/// Include <linux/unmap.h> where stock functions get new names.
///
/// Target:   mm/swap_state.c, its #includes
/// Why here: the renamed function needs a prototype.
/// Missing:  -Wmissing-prototypes warns about it.

@initialize:python@
@@
fired = 0

@already@
@@
#include <linux/unmap.h>

@insert depends on !already@
position p;
@@
#include <linux/shmem_fs.h>@p
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
