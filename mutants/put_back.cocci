// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pte_t;
identifier pte;
@@
unmap_run_key(pte_t pte)
{
+ if (unmap_mutated(PUT_BACK))
+	pte = pte_clear_uffd(pte_clear_soft_dirty(pte_wrprotect(pte)));
  ...
}
