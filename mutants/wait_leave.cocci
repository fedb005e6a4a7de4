// SPDX-License-Identifier: GPL-2.0-only
@@
expression list, table;
@@
__unmap_table_leave(...)
{
- compat_list_del(list, table);
+ if (!unmap_mutated(WAIT_LEAVE))
+	compat_list_del(list, table);
  ...
}
