// SPDX-License-Identifier: GPL-2.0-only
/// Drivers that put entries into user memory make another table if the one they have made goes.
///
/// Target:   mm/memory.c, __get_locked_pte(), apply_to_pte_range()
/// Why here: pte_alloc_map_lock() takes a table that goes before it is locked for a lack of memory.
///           Others who call it hold the mmap lock for writing: fork(), remap_pfn_range().
/// Missing:  vm_insert_page() and apply_to_page_range() report no memory although there is enough.

@@
identifier fn = {__get_locked_pte, apply_to_pte_range};
expression M, P, A, L;
@@
fn(...) {
<...
- pte_alloc_map_lock(M, P, A, L)
+ unmap_alloc_map_lock(M, P, A, L)
...>
}
