// SPDX-License-Identifier: GPL-2.0-only
@@
identifier reason;
@@
unmap_lazyfree_leave(...)
{
  <...
- if (unlikely(reason == UNMAP_STAYS_REDIRTIED))
+ if (unlikely(reason == UNMAP_STAYS_REDIRTIED ||
+	       (reason != UNMAP_GOES && unmap_mutated(EXTRA_REF))))
	folio_set_swapbacked(...);
  ...>
}
