// SPDX-License-Identifier: GPL-2.0-only
@@
@@
back_map(...)
{
  <...
- folio_ref_add(b->dst, b->nr);
+ folio_ref_add(b->dst, unmap_mutated(MOVE_REFS) ? 1 : b->nr);
  ...>
}
