// SPDX-License-Identifier: GPL-2.0-only
@@
@@
__unmap_pmds_fork(...)
{
+ if (unmap_mutated(MARK_FORKED))
+	return;
  ...
}
