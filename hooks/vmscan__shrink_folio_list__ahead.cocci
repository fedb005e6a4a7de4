// SPDX-License-Identifier: GPL-2.0-only
/// Tell mm/unmap/ which folios reclaim comes to next, so that it can unmap them ahead.
///
/// Target:   mm/vmscan.c, shrink_folio_list()
/// Why here: only here is it known which folios follow, and whether their references count.
/// Missing:  each single page is unmapped by a walk of its own.

@@
expression folio, flags;
@@
shrink_folio_list(...) {
<...
- try_to_unmap(folio, flags);
+ unmap_reclaim_folio(folio, flags, folio_list, ignore_references, sc->gfp_mask);
...>
}
