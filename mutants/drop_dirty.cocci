// SPDX-License-Identifier: GPL-2.0-only
@@
expression pte, folio;
@@
drop_clear_run(...)
{
  <...
- if (pte_dirty(pte))
+ if (pte_dirty(pte) && !unmap_mutated(DROP_DIRTY))
	unmap_mark_dirty(folio);
  ...>
}
