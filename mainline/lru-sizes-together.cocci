// SPDX-License-Identifier: GPL-2.0-only
/// The sizes of an LRU list change once for the folios of a batch that leave it to be freed.

@release@
identifier folio, lruvecp, flagsp;
@@
+/*
+ * Folios that leave LRU lists because they are freed. The sizes of a list
+ * change once for all that leave it one after another, before the lock is
+ * dropped. MGLRU counts each folio at once.
+ */
+struct lru_release {
+	struct lruvec *lruvec;		/* locked, or NULL */
+	unsigned long flags;
+	enum lru_list lru;
+	enum zone_type zid;
+	long nr_pages;			/* left lru since its sizes changed */
+};
+
+static void lru_release_update_size(struct lru_release *release)
+{
+	if (release->nr_pages)
+		update_lru_size(release->lruvec, release->lru, release->zid,
+				-release->nr_pages);
+	release->nr_pages = 0;
+}
+
+static void lru_release_unlock(struct lru_release *release)
+{
+	if (!release->lruvec)
+		return;
+	lru_release_update_size(release);
+	lruvec_unlock_irqrestore(release->lruvec, release->flags);
+	release->lruvec = NULL;
+}
+
+static void lru_release_lock(struct lru_release *release, struct folio *folio)
+{
+	if (release->lruvec) {
+		if (folio_matches_lruvec(folio, release->lruvec))
+			return;
+		lru_release_unlock(release);
+	}
+	release->lruvec = folio_lruvec_lock_irqsave(folio, &release->flags);
+}
+
+static void lru_release_del(struct lru_release *release, struct folio *folio)
+{
+	const enum lru_list lru = folio_lru_list(folio);
+	const enum zone_type zid = folio_zonenum(folio);
+
+	if (lru_gen_del_folio(release->lruvec, folio, false))
+		return;
+
+	if (lru != release->lru || zid != release->zid) {
+		lru_release_update_size(release);
+		release->lru = lru;
+		release->zid = zid;
+	}
+	if (lru != LRU_UNEVICTABLE)
+		list_del(&folio->lru);
+	release->nr_pages += folio_nr_pages(folio);
+}
+
- static void __page_cache_release(struct folio *folio, struct lruvec **lruvecp,
- 	unsigned long *flagsp)
+static void __page_cache_release(struct folio *folio,
+				 struct lru_release *release)
 {
  if (folio_test_lru(folio)) {
-	folio_lruvec_relock_irqsave(folio, lruvecp, flagsp);
-	lruvec_del_folio(*lruvecp, folio);
+		lru_release_lock(release, folio);
+		lru_release_del(release, folio);
 	__folio_clear_lru_flags(folio);
  }
 }

@single@
@@
page_cache_release(...) {
- struct lruvec *lruvec = NULL;
- unsigned long flags;
- __page_cache_release(folio, &lruvec, &flags);
- if (lruvec)
- 	lruvec_unlock_irqrestore(lruvec, flags);
+	struct lru_release release = {};
+
+	__page_cache_release(folio, &release);
+	lru_release_unlock(&release);
}

@batch@
@@
folios_put_refs(...) {
...
- struct lruvec *lruvec = NULL;
- unsigned long flags = 0;
+	struct lru_release release = {};
<...
(
- if (lruvec) {
- 	lruvec_unlock_irqrestore(lruvec, flags);
- 	lruvec = NULL;
- }
+ lru_release_unlock(&release);
|
- __page_cache_release(folio, &lruvec, &flags);
+ __page_cache_release(folio, &release);
|
- if (lruvec)
- 	lruvec_unlock_irqrestore(lruvec, flags);
+ lru_release_unlock(&release);
)
...>
}
