// SPDX-License-Identifier: GPL-2.0-only
/// Swap counts of several pages of a folio: declarations.

@dup@
@@
- int folio_dup_swap(struct folio *folio, struct page *page);
+int folio_dup_swap(struct folio *folio, struct page *page);
+int folio_dup_swap_pages(struct folio *folio, struct page *page,
+			 unsigned int nr_pages);

@put@
@@
- void folio_put_swap(struct folio *folio, struct page *page);
+void folio_put_swap(struct folio *folio, struct page *page);
+void folio_put_swap_pages(struct folio *folio, struct page *page,
+			  unsigned int nr_pages);

@dup_without@
@@
 static inline int folio_dup_swap(struct folio *folio, struct page *page) { ... }
+
+static inline int folio_dup_swap_pages(struct folio *folio, struct page *page,
+				       unsigned int nr_pages)
+{
+	return -EINVAL;
+}

@put_without@
@@
 static inline void folio_put_swap(struct folio *folio, struct page *page) { ... }
+
+static inline void folio_put_swap_pages(struct folio *folio, struct page *page,
+					unsigned int nr_pages)
+{
+}
