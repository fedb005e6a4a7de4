// SPDX-License-Identifier: GPL-2.0-only
/// Entries whose accessed and dirty bits nobody wants are cleared with plain stores.

@@
typedef pte_t;
identifier mm, addr, ptep, full;
@@
 static inline pte_t ptep_get_and_clear_full(struct mm_struct *mm,
		unsigned long addr, pte_t *ptep, int full) { ... }
+
+#ifdef CONFIG_X86_64
+/*
+ * The caller does not want the accessed and dirty bits, so a plain store does
+ * what xchg() does, without being a full barrier. A page walk sets these bits
+ * atomically, and in present entries: it comes before the store, and its bits
+ * are lost as the caller wants, or after it, and finds nothing. What sets them
+ * in a cleared entry all the same (Xeon Phi) could do so after an xchg(), too:
+ * pte_none() ignores them.
+ */
+#define clear_full_ptes clear_full_ptes
+static inline void clear_full_ptes(struct mm_struct *mm, unsigned long addr,
+				   pte_t *ptep, unsigned int nr, int full)
+{
+	for (; nr; nr--, ptep++, addr += PAGE_SIZE)
+		ptep_get_and_clear_full(mm, addr, ptep, 1);
+}
+#endif
