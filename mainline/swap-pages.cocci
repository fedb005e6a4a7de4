// SPDX-License-Identifier: GPL-2.0-only
/// Swap counts of several pages of a folio change with its cluster locked once.

@dup@
@@
folio_dup_swap(...) {
- swp_entry_t entry = folio->swap;
- unsigned long nr_pages = folio_nr_pages(folio);
- VM_WARN_ON_FOLIO(!folio_test_locked(folio), folio);
- VM_WARN_ON_FOLIO(!folio_test_swapcache(folio), folio);
- if (page) {
- 	entry.val += folio_page_idx(folio, page);
- 	nr_pages = 1;
- }
- return swap_dup_entries_cluster(swap_entry_to_info(entry), swp_offset(entry), nr_pages);
+	if (page)
+		return folio_dup_swap_pages(folio, page, 1);
+	return folio_dup_swap_pages(folio, folio_page(folio, 0),
+				    folio_nr_pages(folio));
}

@dup_pages@
@@
 int folio_dup_swap(...) { ... }
+
+/**
+ * folio_dup_swap_pages() - Increase swap count of consecutive swap entries.
+ * @folio: folio with swap entries bounded.
+ * @page: the first page whose swap count is increased.
+ * @nr_pages: how many pages of the folio there are.
+ *
+ * The same as folio_dup_swap() for each of the pages, with the cluster locked
+ * once.
+ *
+ * Return: 0, or an error: then no swap count is increased.
+ */
+int folio_dup_swap_pages(struct folio *folio, struct page *page,
+			 unsigned int nr_pages)
+{
+	swp_entry_t entry = folio->swap;
+
+	VM_WARN_ON_FOLIO(!folio_test_locked(folio), folio);
+	VM_WARN_ON_FOLIO(!folio_test_swapcache(folio), folio);
+
+	entry.val += folio_page_idx(folio, page);
+	return swap_dup_entries_cluster(swap_entry_to_info(entry),
+					swp_offset(entry), nr_pages);
+}

@put@
@@
folio_put_swap(...) {
- swp_entry_t entry = folio->swap;
- unsigned long nr_pages = folio_nr_pages(folio);
- struct swap_info_struct *si = __swap_entry_to_info(entry);
- VM_WARN_ON_FOLIO(!folio_test_locked(folio), folio);
- VM_WARN_ON_FOLIO(!folio_test_swapcache(folio), folio);
- if (page) {
- 	entry.val += folio_page_idx(folio, page);
- 	nr_pages = 1;
- }
- swap_put_entries_cluster(si, swp_offset(entry), nr_pages, false);
+	if (page)
+		folio_put_swap_pages(folio, page, 1);
+	else
+		folio_put_swap_pages(folio, folio_page(folio, 0),
+				     folio_nr_pages(folio));
}

@put_pages@
@@
 void folio_put_swap(...) { ... }
+
+/**
+ * folio_put_swap_pages() - Decrease swap count of consecutive swap entries.
+ * @folio: folio with swap entries bounded, must be in swap cache and locked.
+ * @page: the first page whose swap count is decreased.
+ * @nr_pages: how many pages of the folio there are.
+ *
+ * The same as folio_put_swap() for each of the pages, with the cluster locked
+ * once.
+ */
+void folio_put_swap_pages(struct folio *folio, struct page *page,
+			  unsigned int nr_pages)
+{
+	swp_entry_t entry = folio->swap;
+
+	VM_WARN_ON_FOLIO(!folio_test_locked(folio), folio);
+	VM_WARN_ON_FOLIO(!folio_test_swapcache(folio), folio);
+
+	entry.val += folio_page_idx(folio, page);
+	swap_put_entries_cluster(__swap_entry_to_info(entry), swp_offset(entry),
+				 nr_pages, false);
+}
