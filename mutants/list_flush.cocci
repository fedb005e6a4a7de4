// SPDX-License-Identifier: GPL-2.0-only
@@
@@
unmap_ahead_end(...)
{
  <...
- try_to_unmap_flush();
+ if (!unmap_mutated(LIST_FLUSH))
+	try_to_unmap_flush();
  ...>
}
