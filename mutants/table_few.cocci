// SPDX-License-Identifier: GPL-2.0-only
@@
expression d;
@@
discard_ask(...)
{
  ...
- return d->tables_wanted != WANT_NO_TABLES;
+ return d->tables_wanted != WANT_NO_TABLES && !unmap_mutated(TABLE_FEW);
}
