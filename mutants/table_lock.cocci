// SPDX-License-Identifier: GPL-2.0-only
@@
identifier taken;
@@
batch_lock_mmap(...)
{
  *taken = false;
+ if (unmap_mutated(TABLE_LOCK))
+	return true;
  ...
}
