// SPDX-License-Identifier: GPL-2.0-only
/// Include <linux/unmap.h> in all of mm/.
///
/// Target:   mm/internal.h, its #includes
/// Why here: all files that other hooks change include it, and nothing outside mm/.
/// Missing:  renamed functions are called, but not declared.

@@
@@
#include <linux/tracepoint-defs.h>
+#include <linux/unmap.h>
