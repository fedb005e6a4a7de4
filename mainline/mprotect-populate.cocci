// SPDX-License-Identifier: GPL-2.0-only
/// Allocate the page table for markers again if it is gone.

@@
@@
change_pmd_range(...) {
<...
- if (pmd_none(*pmd))
- 	goto next;
+		if (pmd_none(*pmd)) {
+			/*
+			 * MADV_DONTNEED may have freed the page table that the
+			 * markers need.
+			 */
+			if (unlikely(pgtable_populate_needed(vma, cp_flags)) &&
+			    !fatal_signal_pending(current))
+				goto again;
+			goto next;
+		}
...>
}
