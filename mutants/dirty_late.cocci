// SPDX-License-Identifier: GPL-2.0-only
@@
@@
run_is_written_back(...)
{
+ if (unmap_mutated(DIRTY_LATE))
+	return false;
  ...
}
