// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pte_t;
identifier table, i;
@@
proven_empty(pte_t *table)
{
  unsigned int i = any_used(table);
+ if (unmap_mutated(TABLE_FULL))
+	return pte_none(ptep_get(table + unmap_table_watched(table)));
  ...
}
