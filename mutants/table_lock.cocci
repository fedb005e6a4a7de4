// SPDX-License-Identifier: GPL-2.0-only
@@
expression mm;
identifier taken;
@@
batch_lock_mmap(...)
{
  ...
+ if (unmap_mutated(TABLE_LOCK))
+	return true;
  *taken = mmap_read_trylock(mm);
  ...
}
