// SPDX-License-Identifier: GPL-2.0-only
@@
expression used, table;
@@
drop_judge(...)
{
  <...
- used == drop_count_used(table)
+ (used == drop_count_used(table) || unmap_mutated(DROP_STRAYS))
  ...>
}
