// SPDX-License-Identifier: GPL-2.0-only
/// What the statistics of mapped pages have yet to lose.

@@
@@
 static void __folio_rmap_sanity_checks(...) { ... }
+
+/**
+ * struct rmap_stat - mapped pages that the statistics have yet to lose
+ * @lruvec: of all of the pages
+ * @item: NR_ANON_MAPPED or NR_FILE_MAPPED, which counts them
+ * @nr_pages: how many there are; if zero, the other fields mean nothing
+ *
+ * It does not refer to folios, which may be freed before the statistics change.
+ * RCU keeps the lruvec, so it lives no longer than an RCU read-side critical
+ * section, such as that of pte_offset_map_lock().
+ */
+struct rmap_stat {
+	struct lruvec *lruvec;
+	enum node_stat_item item;
+	int nr_pages;
+};
+
+void folio_remove_rmap_ptes_stat(struct folio *folio, struct page *page,
+				 int nr_pages, struct vm_area_struct *vma,
+				 struct rmap_stat *stat);
+void rmap_stat_flush(struct rmap_stat *stat);
