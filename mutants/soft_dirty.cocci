// SPDX-License-Identifier: GPL-2.0-only
@@
identifier op, run;
@@
unmap_run_put_back(struct unmap_op *op, ...)
{
  struct pte_run *run = &op->run;
+ if (unmap_mutated(SOFT_DIRTY))
+	run->pte = pte_clear_soft_dirty(run->pte);
  ...
}
