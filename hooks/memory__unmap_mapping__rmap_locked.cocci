// SPDX-License-Identifier: GPL-2.0-only
/// Truncation and hole punches say that the rmap lock of the file is held.
///
/// Target:   mm/memory.c, unmap_mapping_folio(), unmap_mapping_pages()
/// Why here: as for MADV_DONTNEED: empty page tables are given back only where the caller is
///           known to hold a lock.  Here it is not the mmap lock.
/// Missing:  truncation and hole punches leave empty page tables.

@initialize:python@
@@
fired = 0

@told@
identifier fn = {unmap_mapping_folio, unmap_mapping_pages};
identifier details, mapping;
position p;
@@
fn(...) {
<...
  i_mmap_lock_read@p(mapping);
  if (...)
+ {
+ 	details.zap_flags |= UNMAP_ZAP_RMAP_LOCKED;
  	unmap_mapping_range_tree(&mapping->i_mmap, ..., &details);
+ }
...>
}

@script:python@
p << told.p;
@@
fired += len(p)

@finalize:python@
@@
import sys
if fired != 2:
    sys.stderr.write("unmap_mapping_folio() and _pages() changed in %d places, want 2\n" % fired)
    sys.stderr.flush()
    sys.exit(7)
