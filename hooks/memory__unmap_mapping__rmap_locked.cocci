// SPDX-License-Identifier: GPL-2.0-only
/// Tell zap that truncation and hole punches hold the file's rmap lock.
///
/// Target:   mm/memory.c, unmap_mapping_folio(), unmap_mapping_pages()
/// Why here: zap notes empty page tables only if it knows that its caller holds a lock that
///           excludes free_pgtables().  Here that is i_mmap_rwsem, not the mmap lock.
/// Missing:  truncation and hole punches leave empty page tables.
//
// unmap_mapping_range_tree() gets the mapping since 7.3, its tree M before.

@@
identifier fn = {unmap_mapping_folio, unmap_mapping_pages};
identifier details, mapping;
expression M;
@@
fn(...) {
<...
  i_mmap_lock_read(mapping);
  if (...)
+ {
+ 	details.zap_flags |= UNMAP_ZAP_RMAP_LOCKED;
  	unmap_mapping_range_tree(M, ..., &details);
+ }
...>
}
