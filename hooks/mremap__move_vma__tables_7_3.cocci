// SPDX-License-Identifier: GPL-2.0-only
/// Free the page tables that MREMAP_DONTUNMAP leaves empty (Linux 7.3).
///
/// Target:   mm/mremap.c, dontunmap_complete(), which move_vma() calls
/// Why here: the old range keeps its VMA, so that nothing else frees its tables.
/// Missing:  the tables stay until the old range is unmapped.

@@
identifier start, end;
@@
dontunmap_complete(...) {
...
  unsigned long start = ...;
  unsigned long end = ...;
...
  vma_clear_flags_mask(vma, VMA_LOCKED_MASK);
+ unmap_sweep_range(current->mm, start, end);
...
}
