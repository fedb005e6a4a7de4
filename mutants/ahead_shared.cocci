// SPDX-License-Identifier: GPL-2.0-only
@@
expression folio;
@@
ahead_may_be_next(...)
{
  <...
- folio_mapcount(folio) != 1
+ (folio_mapcount(folio) != 1 && !unmap_mutated(AHEAD_SHARED))
  ...>
}
