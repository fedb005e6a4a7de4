// SPDX-License-Identifier: GPL-2.0-only
/// Reclaim unmaps swap-backed anonymous folios in batches.

@exclusive@
identifier folio, pvmw, flags, pte;
@@
+/*
+ * Swap entries say whether their pages are exclusive: the pages of a batch must
+ * agree in that.
+ */
+static unsigned int folio_unmap_swap_batch(struct folio *folio, pte_t pte,
+					   unsigned int max_nr)
+{
+	struct page *page = folio_page(folio, pte_pfn(pte) - folio_pfn(folio));
+	const bool anon_exclusive = PageAnonExclusive(page);
+	unsigned int nr;
+
+	/* What arch_unmap_one() saves there belongs to a single PTE. */
+	if (IS_ENABLED(CONFIG_SPARC64))
+		return 1;
+
+	for (nr = 1; nr < max_nr; nr++) {
+		if (PageAnonExclusive(page + nr) != anon_exclusive)
+			break;
+	}
+
+	return nr;
+}
+
 static inline unsigned int folio_unmap_pte_batch(struct folio *folio,
			struct page_vma_mapped_walk *pvmw,
			enum ttu_flags flags, pte_t pte)
 {
 ...
- if (folio_test_anon(folio) && folio_test_swapbacked(folio))
-	return 1;
 ...
- return folio_pte_batch_flags(folio, vma, pvmw->pte, &pte, max_nr,
-			       FPB_RESPECT_WRITE | FPB_RESPECT_SOFT_DIRTY);
+	max_nr = folio_pte_batch_flags(folio, vma, pvmw->pte, &pte, max_nr,
+				       FPB_RESPECT_WRITE | FPB_RESPECT_SOFT_DIRTY);
+	if (folio_test_anon(folio) && folio_test_swapbacked(folio))
+		return folio_unmap_swap_batch(folio, pte, max_nr);
+	return max_nr;
 }

@entries@
identifier vma, folio, page, address, ptep, pteval;
@@
+/* Set consecutive PTEs to swap entries of consecutive offsets. */
+static void set_swp_ptes(struct mm_struct *mm, unsigned long address,
+			 pte_t *ptep, pte_t swp_pte, unsigned long nr_pages)
+{
+	for (;;) {
+		set_pte_at(mm, address, ptep, swp_pte);
+		if (--nr_pages == 0)
+			break;
+		ptep++;
+		address += PAGE_SIZE;
+		swp_pte = pte_next_swp_offset(swp_pte);
+	}
+}
+
 static bool ttu_anon_swapbacked_folio(struct vm_area_struct *vma,
		struct folio *folio, struct page *page, unsigned long address,
-		pte_t *ptep, pte_t pteval)
+		pte_t *ptep, pte_t pteval, unsigned long nr_pages)
 {
<...
- folio_dup_swap(folio, page)
+ folio_dup_swap_pages(folio, page, nr_pages)
...>
 }

@undone@
@@
ttu_anon_swapbacked_folio(...) {
<...
- if (anon_exclusive && folio_try_share_anon_rmap_pte(folio, page)) {
- 	folio_put_swap(folio, page);
- 	return false;
- }
+	if (anon_exclusive &&
+	    folio_try_share_anon_rmap_ptes(folio, page, nr_pages)) {
+		folio_put_swap_pages(folio, page, nr_pages);
+		return false;
+	}
...>
}

@undone_first@
@@
ttu_anon_swapbacked_folio(...) {
<...
- folio_put_swap(folio, page)
+ folio_put_swap_pages(folio, page, nr_pages)
...>
}

@counted@
@@
ttu_anon_swapbacked_folio(...) {
<...
(
- dec_mm_counter(mm, MM_ANONPAGES);
+	add_mm_counter(mm, MM_ANONPAGES, -nr_pages);
|
- inc_mm_counter(mm, MM_SWAPENTS);
+	add_mm_counter(mm, MM_SWAPENTS, nr_pages);
|
- set_pte_at(mm, address, ptep,
-	     swp_pte_prepare(entry, pteval, anon_exclusive));
+	set_swp_ptes(mm, address, ptep,
+		     swp_pte_prepare(entry, pteval, anon_exclusive), nr_pages);
)
...>
 }

@called@
@@
ttu_anon_folio(...) {
<...
- if (!folio_test_swapbacked(folio))
- 	return ttu_anon_lazyfree_folio(vma, folio, nr_pages);
- return ttu_anon_swapbacked_folio(vma, folio, page, address, ptep, pteval);
+	if (folio_test_swapbacked(folio))
+		return ttu_anon_swapbacked_folio(vma, folio, page, address,
+						 ptep, pteval, nr_pages);
+	return ttu_anon_lazyfree_folio(vma, folio, nr_pages);
...>
}
