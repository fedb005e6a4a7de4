// SPDX-License-Identifier: GPL-2.0-only
@@
expression vma, start, end;
@@
drop_empty(...)
{
  <...
- flush_tlb_range(vma, start, end);
+ if (!unmap_mutated(DROP_FLUSH))
+	flush_tlb_range(vma, start, end);
  ...>
}
