// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pte_t;
identifier table, i;
expression E;
@@
unmap_table_proven_empty(pte_t *table)
{
  unsigned int i = E;
+ if (unmap_mutated(TABLE_FULL))
+	return pte_none(ptep_get(table + unmap_table_watched(table)));
  ...
}
