// SPDX-License-Identifier: GPL-2.0-only
/// Zap changes the statistics of mapped pages once for neighbouring folios.

@folio_ptes@
identifier tlb, vma, folio, page, pte, ptent, nr, addr, details, rss;
identifier force_flush, force_break, any_skipped;
@@
 static void zap_present_folio_ptes(struct mmu_gather *tlb,
		struct vm_area_struct *vma, struct folio *folio,
		struct page *page, pte_t *pte, pte_t ptent, unsigned int nr,
		unsigned long addr, struct zap_details *details, int *rss,
-		bool *force_flush, bool *force_break, bool *any_skipped)
+		struct rmap_stat *stat, bool *force_flush, bool *force_break,
+		bool *any_skipped)
 {
<...
- folio_remove_rmap_ptes(folio, page, nr, vma);
+		folio_remove_rmap_ptes_stat(folio, page, nr, vma, stat);
...>
 }

@ptes@
identifier tlb, vma, pte, ptent, max_nr, addr, details, rss;
identifier force_flush, force_break, any_skipped;
@@
 static int zap_present_ptes(struct mmu_gather *tlb,
		struct vm_area_struct *vma, pte_t *pte, pte_t ptent,
		unsigned int max_nr, unsigned long addr,
-		struct zap_details *details, int *rss, bool *force_flush,
-		bool *force_break, bool *any_skipped)
+		struct zap_details *details, int *rss, struct rmap_stat *stat,
+		bool *force_flush, bool *force_break, bool *any_skipped)
 {
<...
(
- zap_present_folio_ptes(tlb, vma, folio, page, pte, ptent, nr,
-			 addr, details, rss, force_flush,
-			 force_break, any_skipped);
+		zap_present_folio_ptes(tlb, vma, folio, page, pte, ptent, nr,
+				       addr, details, rss, stat, force_flush,
+				       force_break, any_skipped);
|
- zap_present_folio_ptes(tlb, vma, folio, page, pte, ptent, 1, addr,
-			 details, rss, force_flush, force_break, any_skipped);
+	zap_present_folio_ptes(tlb, vma, folio, page, pte, ptent, 1, addr,
+			       details, rss, stat, force_flush, force_break,
+			       any_skipped);
)
...>
 }

@pte_range@
identifier tlb, vma, pte, addr, end, details, rss;
identifier force_flush, force_break, any_skipped;
@@
 static int do_zap_pte_range(struct mmu_gather *tlb,
				   struct vm_area_struct *vma, pte_t *pte,
				   unsigned long addr, unsigned long end,
-				   struct zap_details *details, int *rss,
-				   bool *force_flush, bool *force_break,
-				   bool *any_skipped)
+				   struct zap_details *details, int *rss,
+				   struct rmap_stat *stat, bool *force_flush,
+				   bool *force_break, bool *any_skipped)
 {
<...
- nr += zap_present_ptes(tlb, vma, pte, ptent, max_nr, addr,
-			 details, rss, force_flush, force_break,
-			 any_skipped);
+		nr += zap_present_ptes(tlb, vma, pte, ptent, max_nr, addr,
+				       details, rss, stat, force_flush,
+				       force_break, any_skipped);
...>
 }

@declared@
@@
zap_pte_range(...) {
...
+	struct rmap_stat stat = {};
 int rss[NR_MM_COUNTERS];
...
}

@calls@
@@
zap_pte_range(...) {
<...
(
- nr = do_zap_pte_range(tlb, vma, pte, addr, end, details, rss,
-			&force_flush, &force_break, &any_skipped);
+		nr = do_zap_pte_range(tlb, vma, pte, addr, end, details, rss,
+				      &stat, &force_flush, &force_break,
+				      &any_skipped);
|
  add_mm_rss_vec(mm, rss);
+	rmap_stat_flush(&stat);
)
...>
}
