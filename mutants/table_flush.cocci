// SPDX-License-Identifier: GPL-2.0-only
@@
identifier batch;
@@
table_flush(struct table_batch *batch, ...)
{
+ if (unmap_mutated(TABLE_FLUSH))
+	return;
  ...
}
