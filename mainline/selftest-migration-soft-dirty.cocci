// SPDX-License-Identifier: GPL-2.0-only
/// migration also tests that pages become soft-dirty that were moved when soft-dirty was cleared.

@helpers@
typedef uint64_t;
@@
+#define NR_MOVED	512
+#define NR_CLEARED	100
+
+struct mover {
+	void *pages[NR_MOVED];
+	int nodes[NR_MOVED];
+	int status[NR_MOVED];
+	int n1;
+	int n2;
+};
+
+static void *move_back_and_forth(void *arg)
+{
+	struct mover *mover = arg;
+	int node = mover->n1;
+
+	while (1) {
+		pthread_testcancel();
+		for (int i = 0; i < NR_MOVED; i++)
+			mover->nodes[i] = node;
+		move_pages(0, NR_MOVED, mover->pages, mover->nodes,
+			   mover->status, MPOL_MF_MOVE);
+		node = node == mover->n1 ? mover->n2 : mover->n1;
+	}
+
+	return NULL;
+}
+
+/*
+ * Returns how many pages are not soft-dirty, although they were written after
+ * soft-dirty was cleared.
+ */
+static int clear_and_write(int pagemap_fd, struct mover *mover)
+{
+	uint64_t entry;
+	int nr = 0;
+
+	clear_softdirty();
+	for (int i = 0; i < NR_MOVED; i++)
+		*(char *)mover->pages[i] = i;
+	for (int i = 0; i < NR_MOVED; i++) {
+		entry = pagemap_get_entry(pagemap_fd, mover->pages[i]);
+		nr += !(entry & PM_SOFT_DIRTY);
+	}
+	return nr;
+}
+
 void *access_mem(...) { ... }

@test@
typedef migration, private_anon_soft_dirty;
@@
 void *access_mem(...) { ... }
+
+/*
+ * One thread moves pages back and forth between nodes whilst another one clears
+ * soft-dirty and writes to them: clearing must see migration entries, too.
+ */
+TEST_F(migration, private_anon_soft_dirty)
+{
+	int pagemap_fd = open("/proc/self/pagemap", O_RDONLY);
+	size_t size = NR_MOVED * psize();
+	static struct mover mover;
+	int nr = 0;
+	char *mem;
+
+	mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
+		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+	ASSERT_NE(mem, MAP_FAILED);
+	madvise(mem, size, MADV_NOHUGEPAGE);
+	memset(mem, 1, size);
+	for (int i = 0; i < NR_MOVED; i++)
+		mover.pages[i] = mem + i * psize();
+	mover.n1 = self->n1;
+	mover.n2 = self->n2;
+
+	if (pagemap_fd < 0 || !softdirty_supported()) {
+		SKIP(munmap(mem, size), "No soft-dirty");
+	} else {
+		ASSERT_EQ(pthread_create(&self->threads[0], NULL,
+					 move_back_and_forth, &mover), 0);
+		for (int i = 0; i < NR_CLEARED; i++)
+			nr += clear_and_write(pagemap_fd, &mover);
+		ASSERT_EQ(pthread_cancel(self->threads[0]), 0);
+		ASSERT_EQ(pthread_join(self->threads[0], NULL), 0);
+		EXPECT_EQ(nr, 0);
+	}
+}

@includes@
@@
 #include <signal.h>
+#include <fcntl.h>
