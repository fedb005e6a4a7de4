// SPDX-License-Identifier: GPL-2.0-only
/// Several exclusive anonymous pages of a folio are marked possibly shared together.

@helper@
identifier folio, page, nr_pages, level;
@@
+/* What a PMD maps is exclusive if the first of its pages is. */
+static inline void __folio_clear_anon_exclusive(struct page *page,
+						int nr_pages,
+						enum pgtable_level level)
+{
+	if (level != PGTABLE_LEVEL_PTE)
+		nr_pages = 1;
+	for (; nr_pages; nr_pages--, page++)
+		ClearPageAnonExclusive(page);
+}
+
 static int __folio_try_share_anon_rmap(struct folio *folio,
		struct page *page, int nr_pages, enum pgtable_level level)
 {
<...
- ClearPageAnonExclusive(page);
+ __folio_clear_anon_exclusive(page, nr_pages, level);
...>
 }

@ptes@
@@
folio_try_share_anon_rmap_pte(...) {
- 	return __folio_try_share_anon_rmap(folio, page, 1, PGTABLE_LEVEL_PTE);
+	return __folio_try_share_anon_rmap(folio, page, 1, PGTABLE_LEVEL_PTE);
+}
+
+/**
+ * folio_try_share_anon_rmap_ptes - try marking exclusive anonymous pages
+ *				    mapped by PTEs possibly shared
+ * @folio:	The folio to share mappings of
+ * @page:	The first mapped exclusive page
+ * @nr_pages:	The number of mapped exclusive pages
+ *
+ * Like folio_try_share_anon_rmap_pte() for each of the pages, with one look at
+ * the pins, which are counted for the whole folio: either all pages are marked
+ * possibly shared, or none.
+ *
+ * Returns 0 if marking the mapped pages possibly shared succeeded. Returns
+ * -EBUSY otherwise.
+ */
+static inline int folio_try_share_anon_rmap_ptes(struct folio *folio,
+						 struct page *page, int nr_pages)
+{
+	return __folio_try_share_anon_rmap(folio, page, nr_pages,
+					   PGTABLE_LEVEL_PTE);
}
