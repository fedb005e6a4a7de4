// SPDX-License-Identifier: GPL-2.0-only
/// soft-dirty also tests that reclaim and mprotect() of a large folio leave soft-dirty alone.

@tests@
typedef bool;
@@
+/*
+ * The PTEs of a large folio are handled in batches. That must not make pages
+ * soft-dirty that were not written since soft-dirty was cleared.
+ */
+static void test_mthp(int pagemap_fd, int pagesize, bool reclaim)
+{
+	const char *what = reclaim ? "reclaim that gave up" : "marking RO";
+	int nr = 0, ret;
+	size_t size;
+	char *mem;
+
+	mem = thp_map_small(&size);
+	if (!mem) {
+		ksft_test_result_skip("Test %s soft-dirty clear after %s\n",
+				      __func__, what);
+		return;
+	}
+
+	if (reclaim) {
+		ret = madvise(mem, size, MADV_FREE);
+		/* Written again, the folio cannot be freed. */
+		mem[pagesize] = 2;
+		clear_softdirty();
+		ret = ret || madvise(mem, size, MADV_PAGEOUT);
+	} else {
+		clear_softdirty();
+		ret = mprotect(mem, size, PROT_READ);
+	}
+	if (ret)
+		ksft_exit_fail_msg("madvise or mprotect failed\n");
+
+	for (size_t off = 0; off < size; off += pagesize)
+		nr += pagemap_is_softdirty(pagemap_fd, mem + off);
+	if (nr)
+		ksft_print_msg("%d pages are soft-dirty, but should not be\n", nr);
+	ksft_test_result(!nr, "Test %s soft-dirty clear after %s\n",
+			 __func__, what);
+	munmap(mem, size);
+}
+
 int main(...) { ... }

@plan@
@@
main(...) {
<...
- ksft_set_plan(19);
+	ksft_set_plan(21);
...>
}

@calls@
symbol pagemap_fd, pagesize;
@@
main(...) {
<...
  test_merge(pagemap_fd, pagesize);
+	test_mthp(pagemap_fd, pagesize, /* reclaim = */ true);
+	test_mthp(pagemap_fd, pagesize, /* reclaim = */ false);
...>
}
