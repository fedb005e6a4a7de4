// SPDX-License-Identifier: GPL-2.0-only
/// Free the page tables that MREMAP_DONTUNMAP leaves empty.
///
/// Target:   mm/mremap.c, move_vma()
/// Why here: the old range keeps its VMA, so that nothing else frees its tables.
/// Missing:  the tables stay until the old range is unmapped.

@@
expression E;
@@
move_vma(...) {
<...
if (unlikely(!err && (E))) {
...
  vm_flags_clear(vma, VM_LOCKED_MASK);
+ unmap_sweep_range(mm, old_addr, old_addr + old_len);
  ...
}
...>
}
