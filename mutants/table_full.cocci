// SPDX-License-Identifier: GPL-2.0-only
@@
typedef pte_t;
identifier table;
expression E;
@@
table_proven_empty(pte_t *table)
{
+ if (unmap_mutated(TABLE_FULL))
+	return pte_none(ptep_get(table + unmap_table_watched(table)));
  return E;
}
