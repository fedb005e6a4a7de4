// SPDX-License-Identifier: GPL-2.0-only
@@
identifier reason;
@@
lazyfree_keeps_content(enum unmap_reason reason)
{
- return reason == UNMAP_STAYS_REDIRTIED;
+ return reason == UNMAP_STAYS_REDIRTIED ||
+	(reason != UNMAP_GOES && unmap_mutated(EXTRA_REF));
}
