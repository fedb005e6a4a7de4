// SPDX-License-Identifier: GPL-2.0-only
/// Drop the record of an mm's empty page tables when its last user is gone.
///
/// Target:   mm/mmap.c, exit_mmap()
/// Why here: nobody uses the mm any more, and its memory is still there.
/// Missing:  the record outlives the mm.

@@
identifier mm;
@@
exit_mmap(...) {
...
+ unmap_kept_exit(mm);
  mmu_notifier_release(mm);
...
}
