// SPDX-License-Identifier: GPL-2.0-only
/// Tell mm/unmap/ that nobody uses an mm any more.
///
/// Target:   mm/mmap.c, exit_mmap()
/// Why here: its last user has gone, its memory has not.
/// Missing:  what is known of its empty page tables outlives it.

@@
identifier mm;
@@
exit_mmap(...) {
...
+ unmap_tables_exit(mm);
  mmu_notifier_release(mm);
...
}
