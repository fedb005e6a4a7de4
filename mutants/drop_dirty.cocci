// SPDX-License-Identifier: GPL-2.0-only
@@
expression pte, folio;
@@
drop_clear_entry(...)
{
  <...
- if (pte_dirty(pte))
+ if (pte_dirty(pte) && !unmap_mutated(DROP_DIRTY))
	folio_mark_dirty(folio);
  ...>
}
