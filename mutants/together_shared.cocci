// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
@@
batch_may_go(...)
{
  <...
- folio_mapcount(folio) != 1
+ (folio_mapcount(folio) != 1 && !unmap_mutated(TOGETHER_SHARED))
  ...>
}
