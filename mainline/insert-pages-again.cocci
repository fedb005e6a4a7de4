// SPDX-License-Identifier: GPL-2.0-only
/// vm_insert_pages() allocates the page table again if it is gone.

@@
@@
insert_pages(...) {
<...
- if (!start_pte) {
- 	ret = -EFAULT;
- 	goto out;
- }
+		if (!start_pte) {
+			pmd_t pmdval = pmdp_get_lockless(pmd);
+
+			/* MADV_DONTNEED may have freed the page table. */
+			if (pmd_none(pmdval) ||
+			    (pmd_present(pmdval) && !pmd_leaf(pmdval)))
+				goto more;
+			ret = -EFAULT;
+			goto out;
+		}
...>
}
