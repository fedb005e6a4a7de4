// SPDX-License-Identifier: GPL-2.0-only
@@
identifier tables;
expression tlb;
@@
unmap_gather_flush_pages(...)
{
  ... when any
- tlb->batch = tables;
+ if (!unmap_mutated(ZAP_TABLES))
+	tlb->batch = tables;
}
