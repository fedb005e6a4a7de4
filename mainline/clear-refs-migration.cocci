// SPDX-License-Identifier: GPL-2.0-only
/// clear_refs makes migration entries read-only, too.

@helper@
typedef softleaf_t, pte_t;
@@
+/* The end of migration must not make an entry writable: writes must fault. */
+static inline softleaf_t migration_entry_wrprotect(softleaf_t entry)
+{
+	if (folio_test_anon(softleaf_to_folio(entry)))
+		return make_readable_exclusive_migration_entry(swp_offset(entry));
+	return make_readable_migration_entry(swp_offset(entry));
+}
+
static inline void clear_soft_dirty(...) { ... }

@entry@
@@
clear_soft_dirty(...) {
<...
- ptent = pte_swp_clear_soft_dirty(ptent);
+		const softleaf_t entry = softleaf_from_pte(ptent);
+		const bool uffd = pte_swp_uffd(ptent);
+
+		if (softleaf_is_migration_write(entry)) {
+			ptent = softleaf_to_pte(migration_entry_wrprotect(entry));
+			if (uffd)
+				ptent = pte_swp_mkuffd(ptent);
+		}
+		ptent = pte_swp_clear_soft_dirty(ptent);
...>
}

@huge@
@@
clear_soft_dirty_pmd(...) {
<...
- pmd = pmd_swp_clear_soft_dirty(pmd);
+		const softleaf_t entry = softleaf_from_pmd(pmd);
+		const bool uffd = pmd_swp_uffd(pmd);
+
+		if (softleaf_is_migration_write(entry)) {
+			pmd = softleaf_to_pmd(migration_entry_wrprotect(entry));
+			if (uffd)
+				pmd = pmd_swp_mkuffd(pmd);
+		}
+		pmd = pmd_swp_clear_soft_dirty(pmd);
...>
}
