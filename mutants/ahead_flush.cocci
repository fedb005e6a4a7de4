// SPDX-License-Identifier: GPL-2.0-only
@@
identifier op, all;
@@
ahead_flush(struct unmap_op *op)
{
  struct pte_run *all = &op->run;
+ if (unmap_mutated(AHEAD_FLUSH))
+	return;
  ...
}
