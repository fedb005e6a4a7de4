// SPDX-License-Identifier: GPL-2.0-only
@@
expression batch;
@@
batch_clear(...)
{
  <...
- batch_flush(batch);
+ if (!unmap_mutated(TOGETHER_FLUSH))
+	batch_flush(batch);
  ...>
}
