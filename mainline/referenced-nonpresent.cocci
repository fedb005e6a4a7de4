// SPDX-License-Identifier: GPL-2.0-only
/// folio_referenced_one() looks for accessed bits in present entries only.

@@
statement S;
@@
folio_referenced_one(...) {
<...
+		/*
+		 * A device may have this page for itself: such an entry has no
+		 * accessed bit, and only other MMUs can have used the page.
+		 */
+		if (unlikely(pvmw.pte && !pte_present(ptep_get(pvmw.pte)))) {
+			if (mmu_notifier_clear_flush_young(vma->vm_mm, address,
+							   address + PAGE_SIZE))
+				referenced++;
+			pra->mapcount--;
+			continue;
+		}
+
  if (pvmw.pte && folio_test_large(folio)) S
...>
}
