// SPDX-License-Identifier: GPL-2.0-only
/// mprotect() of a batch keeps its soft-dirty bit.

@declared@
expression E;
@@
change_present_ptes(...) {
<...
  const bool uffd_prot_resolve = E;
+	const bool soft_dirty = nr_ptes == 1 || pte_soft_dirty(ptep_get(ptep));
...>
}

@kept@
@@
change_present_ptes(...) {
<...
  oldpte = modify_prot_start_ptes(...);
- ptent = pte_modify(oldpte, newprot);
+	/*
+	 * The batch agrees in soft-dirty, but pte_mkdirty(), which collected
+	 * dirty bits, may have added it.
+	 */
+	if (!soft_dirty)
+		oldpte = pte_clear_soft_dirty(oldpte);
+	ptent = pte_modify(oldpte, newprot);
...>
}
