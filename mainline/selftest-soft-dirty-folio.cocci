// SPDX-License-Identifier: GPL-2.0-only
/// Tests can get a large folio that only PTEs map.

@folio@
typedef bool, uintptr_t;
@@
+static bool is_one_folio(char *mem, size_t size)
+{
+	int kpageflags_fd = open("/proc/kpageflags", O_RDONLY);
+	int pagemap_fd = open("/proc/self/pagemap", O_RDONLY);
+	int orders[NR_ORDERS] = {};
+	int ret;
+
+	ret = gather_folio_orders(mem, size, pagemap_fd, kpageflags_fd, orders,
+				  NR_ORDERS);
+	close(pagemap_fd);
+	close(kpageflags_fd);
+	return !ret && orders[sz2ord(size, psize())] == 1;
+}
+
+/* The smallest size of large folios that only PTEs can map, or 0. */
+static size_t thp_small_size(void)
+{
+	unsigned long orders;
+	size_t size;
+
+	orders = thp_supported_orders();
+	if (!orders)
+		return 0;
+	size = (size_t)psize() << __builtin_ctzl(orders);
+	return size < read_pmd_pagesize() ? size : 0;
+}
+
+/*
+ * Map and fill memory that is one large folio, and that only PTEs can map.
+ * Returns NULL, and no size, if there is none, or if the caller is not root.
+ */
+char *thp_map_small(size_t *size)
+{
+	size_t len = thp_small_size();
+	char name[64];
+	char *map;
+	char *mem;
+
+	*size = 0;
+	if (geteuid() || !len)
+		return NULL;
+	map = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE,
+		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+	if (map == MAP_FAILED)
+		return NULL;
+	mem = (char *)(((uintptr_t)map + len - 1) & ~(len - 1));
+	munmap(map, mem - map);
+	munmap(mem + len, map + len - mem);
+
+	thp_save_settings();
+	snprintf(name, sizeof(name), "hugepages-%zukB/enabled", len / 1024);
+	thp_write_string(name, "madvise");
+	madvise(mem, len, MADV_HUGEPAGE);
+	memset(mem, 1, len);
+	thp_restore_settings();
+
+	if (!is_one_folio(mem, len)) {
+		munmap(mem, len);
+		return NULL;
+	}
+	*size = len;
+	return mem;
+}
+
 bool thp_is_enabled(...) { ... }
