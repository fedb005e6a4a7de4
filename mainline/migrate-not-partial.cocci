// SPDX-License-Identifier: GPL-2.0-only
/// A folio does not count as partially mapped because it migrates.

@helper@
@@
+/*
+ * try_to_migrate() takes the pages of a large folio out of rmap one by one, as
+ * if a part of it were unmapped for good. It is not: the folio is mapped as it
+ * was when its entries are back.
+ */
+static void migrate_folio_unmap_ptes(struct folio *src, enum ttu_flags flags)
+{
+	const bool whole = folio_order(src) > 1 &&
+			   !folio_test_partially_mapped(src);
+
+	try_to_migrate(src, flags);
+	if (whole && !folio_mapped(src) && folio_test_partially_mapped(src)) {
+		folio_clear_partially_mapped(src);
+		mod_mthp_stat(folio_order(src),
+			      MTHP_STAT_NR_ANON_PARTIALLY_MAPPED, -1);
+	}
+}
+
static int migrate_folio_unmap(...) { ... }

@call@
expression F;
@@
migrate_folio_unmap(...) {
<...
- try_to_migrate(src, F)
+ migrate_folio_unmap_ptes(src, F)
...>
}
