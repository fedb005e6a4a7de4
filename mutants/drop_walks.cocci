// SPDX-License-Identifier: GPL-2.0-only
@@
expression mm;
@@
drop_flush(...)
{
  <...
- unmap_arch_flush_mm(mm);
+ if (!unmap_mutated(DROP_WALKS))
+	unmap_arch_flush_mm(mm);
  ...>
}
