// SPDX-License-Identifier: GPL-2.0-only
/// Free the page tables that reclaim left empty, after its TLB flush.
///
/// Target:   mm/vmscan.c, shrink_folio_list()
/// Why here: the flush covers a whole batch of folios and many tables, and no lock is held.  The
///           other callers of try_to_unmap_flush() hold folio or rmap locks.
/// Missing:  page tables emptied by reclaim stay until memory is short again.

@@
@@
shrink_folio_list(...) {
<...
- try_to_unmap_flush();
+ unmap_flush_and_sweep();
...>
}
