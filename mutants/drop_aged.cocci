// SPDX-License-Identifier: GPL-2.0-only
@@
expression table;
@@
unmap_table_was_used(...)
{
  <...
- unmap_table_stamp(table, 0);
+ unmap_table_stamp(table, unmap_mutated(DROP_AGED) ? jiffies - unmap_table_age(table) : 0);
  ...>
}
