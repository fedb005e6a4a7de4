// SPDX-License-Identifier: GPL-2.0-only
/// UFFDIO_COPY and its kin allocate the page table again if it is gone.

@@
@@
mfill_establish_pmd(...) {
<...
- dst_pmdval = pmdp_get_lockless(dst_pmd);
+again:
+	dst_pmdval = pmdp_get_lockless(dst_pmd);
  if (unlikely(pmd_none(dst_pmdval)) && unlikely(__pte_alloc(dst_mm, dst_pmd)))
  	return -ENOMEM;
- dst_pmdval = pmdp_get_lockless(dst_pmd);
- if (unlikely(!pmd_present(dst_pmdval) || pmd_leaf(dst_pmdval)))
- 	return -EEXIST;
+	dst_pmdval = pmdp_get_lockless(dst_pmd);
+	/*
+	 * MADV_DONTNEED may have freed the page table already, or the PMD used
+	 * to be THP and changed back to none: nothing is there.
+	 */
+	if (unlikely(pmd_none(dst_pmdval))) {
+		if (fatal_signal_pending(current))
+			return -EINTR;
+		goto again;
+	}
+	/* If the dst_pmd is THP don't override it and just be strict. */
+	if (unlikely(!pmd_present(dst_pmdval) || pmd_leaf(dst_pmdval)))
+		return -EEXIST;
...>
}
