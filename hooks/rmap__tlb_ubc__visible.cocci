// SPDX-License-Identifier: GPL-2.0-only
/// Make the helper that records a deferred flush visible to mm/unmap/flush.h.
///
/// Target:   mm/rmap.c, set_tlb_ubc_flush_pending()
/// Why here: it maintains the generations in mm->tlb_flush_batched; a copy of that protocol
///           would have to change whenever this one does.
/// Missing:  mm/unmap/ does not link.
//
// It has two definitions; the second is for architectures that do not defer.

@@
type T;
@@
- static T
+ T
  set_tlb_ubc_flush_pending(...) { ... }
