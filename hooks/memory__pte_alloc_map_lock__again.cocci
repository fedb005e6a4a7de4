// SPDX-License-Identifier: GPL-2.0-only
/// Allocate the page table again if it was freed before a driver could lock it.
///
/// Target:   mm/memory.c, __get_locked_pte() (since 7.3 get_locked_pte()), apply_to_pte_range()
/// Why here: pte_alloc_map_lock() reports a table that was freed before it was locked as lack of
///           memory.  Its other callers, fork() and remap_pfn_range(), hold the mmap lock for
///           writing, which excludes freeing.
/// Missing:  vm_insert_page() and apply_to_page_range() return -ENOMEM although there is memory.

@@
identifier fn = {__get_locked_pte, get_locked_pte, apply_to_pte_range};
expression M, P, A, L;
@@
fn(...) {
<...
- pte_alloc_map_lock(M, P, A, L)
+ unmap_alloc_map_lock(M, P, A, L)
...>
}
