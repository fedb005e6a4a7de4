// SPDX-License-Identifier: GPL-2.0-only
/// Tell mm/unmap/ that reclaim must flush before it writes a folio, so that others share the flush.
///
/// Target:   mm/vmscan.c, shrink_folio_list()
/// Why here: the flush is due here, and only here it is known which folios follow.
/// Missing:  each written folio costs a flush of all processors that use its mm.

@@
@@
shrink_folio_list(...) {
<...
- try_to_unmap_flush_dirty();
+ unmap_flush_for_write(folio, folio_list, sc->may_unmap, ignore_references, sc->gfp_mask);
...>
}
