// SPDX-License-Identifier: GPL-2.0-only
/// Make the deferred-flush helpers visible to mm/unmap/flush.c.
///
/// Target:   mm/rmap.c, set_tlb_ubc_flush_pending() and should_defer_flush()
/// Why here: they maintain the generations in mm->tlb_flush_batched; a copy of that protocol
///           would have to change whenever this one does.
/// Missing:  mm/unmap/flush.c does not link.
//
// Each has two definitions; the second is for architectures that do not defer.

@note@
type T;
@@
- static T
+ T
  set_tlb_ubc_flush_pending(...) { ... }

@defer@
type T;
@@
- static T
+ T
  should_defer_flush(...) { ... }
