// SPDX-License-Identifier: GPL-2.0-only
@@
expression E;
@@
unmap_table_gone(...)
{
  ...
- return E;
+ return !unmap_mutated(TABLE_LATE) && (E);
}
