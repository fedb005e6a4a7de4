// SPDX-License-Identifier: GPL-2.0-only
@@
@@
discard_huge_is_written_back(...)
{
+ if (unmap_mutated(HUGE_LATE))
+	return false;
  ...
}
