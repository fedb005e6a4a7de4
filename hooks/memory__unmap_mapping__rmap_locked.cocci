// SPDX-License-Identifier: GPL-2.0-only
/// Truncation and hole punches say that the rmap lock of the file is held.
///
/// Target:   mm/memory.c, unmap_mapping_folio(), unmap_mapping_pages()
/// Why here: as for MADV_DONTNEED: empty page tables are given back only where the caller is
///           known to hold a lock.  Here it is not the mmap lock.
/// Missing:  truncation and hole punches leave empty page tables.

@@
identifier fn = {unmap_mapping_folio, unmap_mapping_pages};
identifier details, mapping;
@@
fn(...) {
<...
  i_mmap_lock_read(mapping);
  if (...)
+ {
+ 	details.zap_flags |= UNMAP_ZAP_RMAP_LOCKED;
  	unmap_mapping_range_tree(&mapping->i_mmap, ..., &details);
+ }
...>
}
