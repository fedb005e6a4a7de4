// SPDX-License-Identifier: GPL-2.0-only
/// get_locked_pte() and apply_to_page_range() allocate the page table again if it is gone.

@helper@
typedef pte_t, pmd_t, spinlock_t;
@@
+/*
+ * pte_alloc_map_lock() also fails if MADV_DONTNEED has freed the page table
+ * before it was locked, unless the mmap_lock is held for writing. That is no
+ * lack of memory: allocate another one. Do not wait for a PMD that maps
+ * something else, or is not present.
+ */
+static pte_t *pte_alloc_map_lock_retry(struct mm_struct *mm, pmd_t *pmd,
+				       unsigned long addr, spinlock_t **ptlp)
+{
+	pmd_t pmdval;
+	pte_t *pte;
+
+	do {
+		if (pte_alloc(mm, pmd))
+			return NULL;
+		pte = pte_offset_map_lock(mm, pmd, addr, ptlp);
+		if (pte)
+			return pte;
+		pmdval = pmdp_get_lockless(pmd);
+	} while (pmd_none(pmdval) ||
+		 (pmd_present(pmdval) && !pmd_leaf(pmdval)));
+
+	return NULL;
+}
+
pte_t *get_locked_pte(...) { ... }

@calls@
identifier fn = {get_locked_pte, apply_to_pte_range};
expression M, P, A, L;
@@
fn(...) {
<...
- pte_alloc_map_lock(M, P, A, L)
+ pte_alloc_map_lock_retry(M, P, A, L)
...>
}
