// SPDX-License-Identifier: GPL-2.0-only
@look@
expression pte;
@@
ahead_may_be_next(...)
{
  <...
- pte_dirty(pte)
+ (pte_dirty(pte) && !unmap_mutated(AHEAD_STALE))
  ...>
}

@clear@
expression pte;
@@
ahead_leave(...)
{
  <...
- pte_dirty(pte)
+ (pte_dirty(pte) &&
+  (!unmap_mutated(AHEAD_STALE) || (folio_mark_dirty(op->folio), false)))
  ...>
}
