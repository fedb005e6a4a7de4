// SPDX-License-Identifier: GPL-2.0-only
@@
expression mm;
@@
drop_flush(...)
{
  <...
- flush_tlb_mm(mm);
+ if (!unmap_mutated(DROP_WALKS))
+	flush_tlb_mm(mm);
  ...>
}
