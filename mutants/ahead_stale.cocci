// SPDX-License-Identifier: GPL-2.0-only
@look@
expression pte;
@@
unmap_ahead_may_go(...)
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
