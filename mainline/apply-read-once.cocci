// SPDX-License-Identifier: GPL-2.0-only
/// apply_to_page_range() reads the PMD once to decide what it is.

@@
@@
apply_to_pmd_range(...) {
<...
- next = pmd_addr_end(addr, end);
- if (pmd_none(*pmd) && !create)
- 	continue;
- if (WARN_ON_ONCE(pmd_leaf(*pmd)))
- 	return -EINVAL;
+		/* MADV_DONTNEED may free the page table between two reads. */
+		const pmd_t pmdval = pmdp_get_lockless(pmd);
+
+		next = pmd_addr_end(addr, end);
+		if (pmd_none(pmdval) && !create)
+			continue;
+		if (WARN_ON_ONCE(pmd_leaf(pmdval)))
+			return -EINVAL;
- if (!pmd_none(*pmd) && WARN_ON_ONCE(pmd_bad(*pmd))) {
+		if (!pmd_none(pmdval) && WARN_ON_ONCE(pmd_bad(pmdval))) {
  	if (!create)
  		continue;
  	pmd_clear_bad(pmd);
  }
...>
}
