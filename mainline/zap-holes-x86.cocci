// SPDX-License-Identifier: GPL-2.0-only
/// Several entries of x86 are none if the bits of all of them are.

@@
typedef pte_t, pteval_t, bool;
@@
 static inline int pte_none(...) { ... }
+
+/* pte_none() ignores the same bits in all entries, so ask it once. */
+#define ptes_none ptes_none
+static inline bool ptes_none(const pte_t *ptep, unsigned int nr)
+{
+	pteval_t bits = 0;
+
+	for (; nr; nr -= 4, ptep += 4)
+		bits |= READ_ONCE(ptep[0].pte) | READ_ONCE(ptep[1].pte) |
+			READ_ONCE(ptep[2].pte) | READ_ONCE(ptep[3].pte);
+	return pte_none(native_make_pte(bits));
+}
