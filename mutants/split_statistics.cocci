// SPDX-License-Identifier: GPL-2.0-only
@@
expression debt, folio, item;
@@
split_map_run(...)
{
  <...
- rmap_owe(debt, folio, item, -1);
+ rmap_owe(debt, folio, item, unmap_mutated(SPLIT_STATISTICS) ? 0 : -1);
  ...>
}
