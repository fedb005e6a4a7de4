// SPDX-License-Identifier: GPL-2.0-only
/// Include <linux/unmap.h> in all of mm/.
///
/// Target:   mm/internal.h, its #includes
/// Why here: every file that a hook changes includes mm/internal.h; no file outside mm/ does.
/// Missing:  renamed functions are called, but not declared.

@@
@@
#include <linux/tracepoint-defs.h>
+#include <linux/unmap.h>
