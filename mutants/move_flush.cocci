// SPDX-License-Identifier: GPL-2.0-only
@@
expression op;
@@
relocate_run(...)
{
  <...
- unmap_run_clear_locked(op);
+ if (unmap_mutated(MOVE_FLUSH))
+	op->run.pte = unmap_arch_clear(op->vma->vm_mm, op->run.addr, op->run.ptep, op->run.nr, 0);
+ else
+	unmap_run_clear_locked(op);
  ...>
}
