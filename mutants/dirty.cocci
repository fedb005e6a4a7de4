// SPDX-License-Identifier: GPL-2.0-only
@@
identifier d, pte, folio, delay_rmap;
@@
discard_file(...)
{
  ...
- if (pte_dirty(pte))
+ if (pte_dirty(pte) && !unmap_mutated(DIRTY))
	delay_rmap = discard_pass_on_dirty(d, folio);
  ...
}
