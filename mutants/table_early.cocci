// SPDX-License-Identifier: GPL-2.0-only
@@
expression d, pmd, start, addr, ptl, state;
@@
discard_range(...)
{
  ...
+ if (unmap_mutated(TABLE_EARLY))
+	state = discard_notice_table(d, pmd, start, addr, ptl);
  if (d->force_flush) { ... }
- state = discard_notice_table(d, pmd, start, addr, ptl);
+ if (!unmap_mutated(TABLE_EARLY))
+	state = discard_notice_table(d, pmd, start, addr, ptl);
  ...
}
