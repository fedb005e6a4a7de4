// SPDX-License-Identifier: GPL-2.0-only
/// Reclaim gives back the page tables that it left empty, after its TLB flush.
///
/// Target:   mm/vmscan.c, shrink_folio_list()
/// Why here: a batch of folios has been unmapped and its flush is made, for many tables at
///           once; nothing is locked.  Others who flush hold folios or rmap locked.
/// Missing:  page tables emptied by reclaim stay until memory is short again.

@@
@@
shrink_folio_list(...) {
<...
- try_to_unmap_flush();
+ unmap_flush_and_sweep();
...>
}
