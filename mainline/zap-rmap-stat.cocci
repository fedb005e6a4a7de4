// SPDX-License-Identifier: GPL-2.0-only
/// The rmap of PTEs can be removed with the statistics of mapped pages changed later.

@stat@
identifier folio, page, nr_pages, vma, level;
@@
+/**
+ * rmap_stat_flush - take pages off the statistics of mapped pages
+ * @stat: empty on return
+ *
+ * Context: The RCU read-side critical section in which @stat was filled.
+ */
+void rmap_stat_flush(struct rmap_stat *stat)
+{
+	if (stat->nr_pages)
+		mod_lruvec_state(stat->lruvec, stat->item, -stat->nr_pages);
+	stat->nr_pages = 0;
+}
+
+/* Go on with pages of another kind: nr_pages of this folio. */
+static void rmap_stat_switch(struct rmap_stat *stat,
+			     struct folio *folio, enum node_stat_item item,
+			     int nr_pages)
+{
+	rmap_stat_flush(stat);
+
+	/* Only the node counts pages without a memcg. */
+	if (!mem_cgroup_disabled() && !folio_memcg(folio)) {
+		mod_node_page_state(folio_pgdat(folio), item, -nr_pages);
+		return;
+	}
+
+	stat->lruvec = folio_lruvec(folio);
+	stat->item = item;
+	stat->nr_pages = nr_pages;
+}
+
+static void rmap_stat_add(struct rmap_stat *stat, struct folio *folio,
+			  int nr_pages)
+{
+	const enum node_stat_item item = folio_test_anon(folio) ?
+					 NR_ANON_MAPPED : NR_FILE_MAPPED;
+
+	if (!nr_pages)
+		return;
+
+	if (stat->nr_pages && stat->item == item &&
+	    folio_matches_lruvec(folio, stat->lruvec))
+		stat->nr_pages += nr_pages;
+	else
+		rmap_stat_switch(stat, folio, item, nr_pages);
+}
+
 static void __folio_remove_rmap(struct folio *folio, struct page *page, int nr_pages,
-	struct vm_area_struct *vma, enum pgtable_level level)
+		struct vm_area_struct *vma, enum pgtable_level level,
+		struct rmap_stat *stat)
 {
<...
- __folio_mod_stat(folio, -nr, -nr_pmdmapped);
+	if (stat)
+		rmap_stat_add(stat, folio, nr);
+	else
+		__folio_mod_stat(folio, -nr, -nr_pmdmapped);
...>
 }

@pte@
@@
folio_remove_rmap_ptes(...) {
- __folio_remove_rmap(folio, page, nr_pages, vma, PGTABLE_LEVEL_PTE);
+	__folio_remove_rmap(folio, page, nr_pages, vma, PGTABLE_LEVEL_PTE, NULL);
}

@pmd@
@@
folio_remove_rmap_pmd(...) {
<...
- __folio_remove_rmap(folio, page, HPAGE_PMD_NR, vma, PGTABLE_LEVEL_PMD);
+	__folio_remove_rmap(folio, page, HPAGE_PMD_NR, vma, PGTABLE_LEVEL_PMD, NULL);
...>
}

@pud@
@@
folio_remove_rmap_pud(...) {
<...
- __folio_remove_rmap(folio, page, HPAGE_PUD_NR, vma, PGTABLE_LEVEL_PUD);
+	__folio_remove_rmap(folio, page, HPAGE_PUD_NR, vma, PGTABLE_LEVEL_PUD, NULL);
...>
}

@later@
@@
 void folio_remove_rmap_ptes(...) { ... }
+
+/**
+ * folio_remove_rmap_ptes_stat - remove PTE mappings, and change statistics later
+ * @folio:	The folio to remove the mappings from
+ * @page:	The first page to remove
+ * @nr_pages:	The number of pages that will be removed from the mapping
+ * @vma:	The vm area from which the mappings are removed
+ * @stat:	What the statistics have yet to lose
+ *
+ * Like folio_remove_rmap_ptes(), but the statistics change once for all pages
+ * of one kind. Begin with an empty @stat, and end with rmap_stat_flush().
+ *
+ * Context: The caller holds the page table lock and the RCU read lock, without
+ * dropping them between the calls with one @stat.
+ */
+void folio_remove_rmap_ptes_stat(struct folio *folio, struct page *page,
+				 int nr_pages, struct vm_area_struct *vma,
+				 struct rmap_stat *stat)
+{
+	__folio_remove_rmap(folio, page, nr_pages, vma, PGTABLE_LEVEL_PTE, stat);
+}
