// SPDX-License-Identifier: GPL-2.0-only
/// Whether several entries are none.

@@
typedef pte_t, bool;
@@
clear_ptes(...) {
- clear_full_ptes(mm, addr, ptep, nr, 0);
+	clear_full_ptes(mm, addr, ptep, nr, 0);
+}
+
+#ifndef ptes_none
+/**
+ * ptes_none - Check whether consecutive PTEs are all none.
+ * @ptep: Page table pointer for the first entry.
+ * @nr: Number of entries to check; a multiple of four.
+ *
+ * May be overridden by the architecture, if it can look at several entries at
+ * a time; otherwise, implemented as a simple loop over pte_none().
+ *
+ * Context: The caller holds the page table lock.  The PTEs are all in the same
+ * PMD.
+ *
+ * Return: Whether all of the PTEs are none.
+ */
+static inline bool ptes_none(pte_t *ptep, unsigned int nr)
+{
+	for (; nr; nr--, ptep++) {
+		if (!pte_none(ptep_get(ptep)))
+			return false;
+	}
+
+	return true;
}
+#endif
