// SPDX-License-Identifier: GPL-2.0-only
/// Free the page tables that MREMAP_DONTUNMAP leaves empty (since Linux 6.18).
///
/// Target:   mm/mremap.c, dontunmap_complete(), which move_vma() calls
/// Why here: the old range keeps its VMA, so that nothing else frees its tables.
/// Missing:  the tables stay until the old range is unmapped.

@@
identifier start, end;
identifier clear = {vma_clear_flags_mask, vm_flags_clear};
expression V, M;
@@
dontunmap_complete(...) {
...
  unsigned long start = ...;
  unsigned long end = ...;
...
  clear(V, M);
+ unmap_sweep_range(current->mm, start, end);
...
}
