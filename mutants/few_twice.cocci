// SPDX-License-Identifier: GPL-2.0-only
@@
identifier addr;
symbol d;
@@
unmap_zap_pmd_range(...)
{
  <...
  addr = discard_few(...);
+ if (unmap_mutated(FEW_TWICE))
+	addr = d.start;
  ...>
}
