// SPDX-License-Identifier: GPL-2.0-only
/// A batch that reclaim puts back keeps its soft-dirty bit.

@declared@
@@
try_to_unmap_one(...) {
...
- bool ret = true;
+	bool ret = true, soft_dirty;
...
}

@kept@
@@
try_to_unmap_one(...) {
<...
- pteval = get_and_clear_ptes(mm, address, pvmw.pte, nr_pages);
+			soft_dirty = pte_soft_dirty(pteval);
+			pteval = get_and_clear_ptes(mm, address, pvmw.pte, nr_pages);
+			/*
+			 * The batch agrees in soft-dirty, but pte_mkdirty(),
+			 * which collected dirty bits, may have added it.
+			 */
+			if (!soft_dirty)
+				pteval = pte_clear_soft_dirty(pteval);
+
...>
}
