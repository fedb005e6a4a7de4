// SPDX-License-Identifier: GPL-2.0-only
@@
expression table;
@@
unmap_table_was_used(...)
{
  <...
- drop_stamp(table, 0);
+ drop_stamp(table, unmap_mutated(DROP_AGED) ? unmap_table_now() - unmap_table_age(table) : 0);
  ...>
}
