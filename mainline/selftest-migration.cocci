// SPDX-License-Identifier: GPL-2.0-only
/// migration also tests that a large folio does not count as partially mapped afterwards.

@helpers@
@@
+/*
+ * Returns how many large folios of a size count as partially mapped, or -1 if
+ * that is not known.
+ */
+static long nr_partially_mapped(size_t size)
+{
+	const char *name = "hugepages-%zukB/stats/nr_anon_partially_mapped";
+	unsigned long nr;
+	char path[256];
+	int len;
+
+	len = snprintf(path, sizeof(path), "/sys/kernel/mm/transparent_hugepage/");
+	snprintf(path + len, sizeof(path) - len, name, size / 1024);
+	return read_sysfs(path, &nr) ? -1 : (long)nr;
+}
+
+static int migrate_once(void *ptr, int n1, int n2)
+{
+	int status;
+	int node;
+
+	if (move_pages(0, 1, &ptr, NULL, &status, 0))
+		return -1;
+	node = status == n1 ? n2 : n1;
+	for (int i = 0; i < 100 && status != node; i++)
+		if (move_pages(0, 1, &ptr, &node, &status, MPOL_MF_MOVE) < 0)
+			return -1;
+	return status == node ? 0 : -1;
+}
+
 void *access_mem(...) { ... }

@test@
typedef migration, private_anon_mthp_whole;
@@
 void *access_mem(...) { ... }
+
+/*
+ * A large folio that PTEs map must not count as partially mapped, and be split
+ * for that, because it was migrated: no part of it was unmapped.
+ */
+TEST_F(migration, private_anon_mthp_whole)
+{
+	size_t size;
+	char *mem = thp_map_small(&size);
+	long nr = mem ? nr_partially_mapped(size) : -1;
+
+	if (nr < 0) {
+		SKIP(munmap(mem, size), "No large folio, or no statistics");
+	} else {
+		ASSERT_EQ(migrate_once(mem, self->n1, self->n2), 0);
+		EXPECT_LE(nr_partially_mapped(size), nr);
+		munmap(mem, size);
+	}
+}
