// SPDX-License-Identifier: GPL-2.0-only
@@
@@
discard_gathered_many(const struct discard *d)
{
+ if (unmap_mutated(ZAP_LATE))
+	return false;
  ...
}
